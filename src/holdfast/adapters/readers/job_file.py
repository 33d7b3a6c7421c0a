"""Job files: YAML, read with the place of each value, edited without touching another character.

Covered: everything YAML 1.2 has for plain values, in block and flow style, with comments.
Not covered: anchors and aliases, tags, several documents in a file; see `adapters.yaml.compose`.
"""

from collections.abc import Iterable, Iterator

from ruamel.yaml.representer import RepresenterError

from holdfast.adapters.yaml.compose import compose
from holdfast.adapters.yaml.page import EditedText, SourceLines
from holdfast.adapters.yaml.splice import rename, steps
from holdfast.adapters.yaml.tree import Branch, Child, Leaf, value_of
from holdfast.core.errors import GroupedError, JobError, Spot
from holdfast.core.job.document import (
    Document,
    Edit,
    Key,
    Remove,
    Rename,
    ReplaceCall,
    Set,
    apply_edits,
    leaves,
    parse_key,
    render_key,
)
from holdfast.core.text.places import LineIndex, TextEdit

NOT_THERE: dict[type[Edit], str] = {
    Set: "what it would stand in is neither a mapping nor a list of that length",
    Remove: "the file has no such key",
    Rename: "the file has no such key, or has one of the new name",
    ReplaceCall: "a job file calls nothing",
}

UNCLEAR = "the text there is laid out in a way that is not understood"


class JobFileReader:
    """Reads a job file into a Document, and writes edits back."""

    def read(self, text: str, path: str) -> Document:
        """Return the document.

        Raises:
            GroupedError: Of a JobError for every objection to the YAML.
        """
        root = _root(text, path)
        lines = LineIndex(text)
        entries = dict(_entries(root))
        keys = {key: child.key for key, child in entries.items() if child.key}
        document = Document(
            path=path,
            kind="job",
            text=text,
            values=value_of(root),
            places={key: lines.place(path, child.node.start, child.node.end) for key, child in entries.items()},
            key_places={key: lines.place(path, leaf.start, leaf.end) for key, leaf in keys.items()},
        )
        return document.with_own_calls()

    def place_edits(self, document: Document, edits: Iterable[Edit]) -> tuple[TextEdit, ...]:
        """Return the text edits that make the edits and touch nothing else.

        Raises:
            JobError: An edit cannot be made in this text; the message says why.
        """
        draft = EditedText(document.text)
        for edit in edits:
            try:
                if not _make(draft, edit, document.path):
                    raise _refusal(document, edit, UNCLEAR)
            except KeyError:
                raise _refusal(document, edit, NOT_THERE[type(edit)]) from None
            except RepresenterError:
                raise _refusal(document, edit, "the value is not plain data") from None
            except ExceptionGroup:  # what came out is not valid YAML
                raise _refusal(document, edit, UNCLEAR) from None
        return draft.edits()


def _root(text: str, path: str) -> Branch:
    root = compose(text, path)
    if isinstance(root, Branch) and not root.is_list:
        return root
    found = "nothing" if root is None else "a list" if isinstance(root, Branch) else "a single value"
    problem = JobError(
        f"the file holds {found}; a job is a mapping",
        where=Spot(path, 1, 1),
        fix="write lines such as `method: sft`, with a space after the colon",
    )
    raise GroupedError(f"{path} is not a job", [problem])


def _entries(branch: Branch, above: Key = ()) -> Iterator[tuple[Key, Child]]:
    """Yield every entry of a tree with its key path."""
    for part, child in branch.children.items():
        key = (*above, part)
        yield key, child
        if isinstance(child.node, Branch):
            yield from _entries(child.node, key)


def _make(draft: EditedText, edit: Edit, path: str) -> bool:
    """Change a draft, step by step, until it says what the edit asks for; tell whether it came to that."""
    if isinstance(edit, ReplaceCall):
        raise KeyError(edit.key)
    root = _root(draft.text, path)
    values = value_of(root)
    target = apply_edits(values, [edit])
    if isinstance(edit, Rename) and (key := _written_key(root, parse_key(edit.key))):
        draft.make(rename(key, edit.name))
    for _ in (*leaves(values), *leaves(target), None):  # each step settles at least one of them
        root = _root(draft.text, path)
        step = next(steps(SourceLines(draft.text), Child(None, root), target), None)
        if step is None:
            return True
        draft.make(step)
    return False


def _written_key(root: Branch, key: Key) -> Leaf | None:
    return next((child.key for path, child in _entries(root) if render_key(path) == render_key(key)), None)


def _refusal(document: Document, edit: Edit, because: str) -> JobError:
    place = document.place(edit.key)
    return JobError(
        f"cannot {type(edit).__name__.lower()} `{edit.key}`: {because}",
        where=Spot.of(place),
        fix="make the change by hand",
    )
