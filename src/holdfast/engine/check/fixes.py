"""Choosing which fixes are made together, and showing what they change. Pure: texts in, texts out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff

from holdfast.core.check.finding import Finding, Fix
from holdfast.core.errors import UsageError
from holdfast.core.job.document import Document, Edit, Rename
from holdfast.core.text.places import TextEdit

EditPlacer = Callable[[Document, Iterable[Edit]], tuple[TextEdit, ...]]


@dataclass(frozen=True, slots=True)
class FixResult:
    """What becomes of one target.

    Attributes:
        edits: The text edits to make, none of which overlap.
        fixed: The findings that they fix.
    """

    edits: tuple[TextEdit, ...] = ()
    fixed: tuple[Finding, ...] = ()


def combine_fixes(findings: Iterable[Finding], place_edits: EditPlacer, *, unsafe: bool) -> FixResult:
    """Return the edits of every fix that can be made at once. One that meets another waits for the next round.

    Args:
        findings: What was found.
        place_edits: Turns edits of a finding's document into edits of its text; refuses by UsageError.
        unsafe: Whether to make fixes too that may change what the user meant.
    """
    made = _PlannedFixes(place_edits)
    fixed = tuple(
        finding
        for finding in findings
        if finding.fix
        and finding.document
        and (finding.fix.safe or unsafe)
        and made.adds(finding.document, finding.fix)
    )
    return FixResult(made.text_edits(), fixed)


@dataclass(slots=True)
class _PlannedFixes:
    """The fixes that are made so far: of each document its edits, and what they are in its text.

    A file that trains several jobs is several documents of one text.
    """

    place_edits: EditPlacer
    edits: dict[int, list[Edit]] = field(default_factory=dict[int, list[Edit]])
    placed: dict[int, tuple[TextEdit, ...]] = field(default_factory=dict[int, tuple[TextEdit, ...]])

    def adds(self, document: Document, fix: Fix) -> bool:
        """Make a fix too, and tell whether it can be, together with the others."""
        if fix.text_edits:
            return self._adds_text(fix)
        key = id(document)
        known = self.edits.get(key, [])
        new = [edit for edit in fix.edits if edit not in known]
        placed = self._place(document, known, new)
        is_idle = bool(new) and set(placed) <= set(self.placed.get(key, ()))
        if not placed or is_idle or self._meets_others(placed, key):
            return False
        self.edits[key], self.placed[key] = [*known, *new], placed
        return True

    def _place(self, document: Document, known: Sequence[Edit], new: Sequence[Edit]) -> tuple[TextEdit, ...]:
        """Return the edits of the text for edits that are known and new ones; none if they cannot be made together."""
        if any(_quarrel(edit, other) for edit in new for other in known):
            return ()
        try:
            return self.place_edits(document, [*known, *new])
        except UsageError:
            return ()

    def _meets_others(self, edits: tuple[TextEdit, ...], key: int) -> bool:
        """True if edits meet some that are made under another key."""
        others = {each for other, made in self.placed.items() if other != key for each in made} - set(edits)
        return any(_meet(edit, other) for edit in edits for other in others)

    def _adds_text(self, fix: Fix) -> bool:
        """Make a fix that says itself what becomes of the text; of several documents of one text, once."""
        if self._meets_others(fix.text_edits, id(fix)):
            return False
        self.placed[id(fix)] = fix.text_edits
        return True

    def text_edits(self) -> tuple[TextEdit, ...]:
        """Return all that is to be done."""
        return tuple(dict.fromkeys(edit for edits in self.placed.values() for edit in edits))


def _quarrel(edit: Edit, other: Edit) -> bool:
    """True if two different edits are about one key, or a key within the other's."""
    return any(
        f"{one}.".startswith(f"{two}.") or f"{two}.".startswith(f"{one}.")
        for one in _touched(edit)
        for two in _touched(other)
    )


def _touched(edit: Edit) -> tuple[str, ...]:
    if isinstance(edit, Rename):
        parent, dot, _ = edit.key.rpartition(".")
        return edit.key, f"{parent}{dot}{edit.name}"
    return (edit.key,)


def _meet(edit: TextEdit, other: TextEdit) -> bool:
    """True if two edits touch the same characters, or both write at one place."""
    if (edit.path, edit.cell) != (other.path, other.cell):
        return False
    first, second = sorted((edit, other), key=lambda each: (each.start, each.end))
    return second.start < first.end or first.start == second.start


def render_diff(path: str, before: str, after: str) -> str:
    r"""Return the changes of a file as a unified diff; empty if there are none.

    >>> print(render_diff("train.py", "a = 1\n", "a = 2\n"), end="")
    --- a/train.py
    +++ b/train.py
    @@ -1 +1 @@
    -a = 1
    +a = 2
    """
    lines = unified_diff(_lines(before), _lines(after), f"a/{path}", f"b/{path}")
    return "".join(_ended(lines))


def _lines(text: str) -> Sequence[str]:
    return text.splitlines(keepends=True)


def _ended(lines: Iterable[str]) -> Iterator[str]:
    r"""Yield a diff's lines, and after one that ends without a line break what every diff says there."""
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
