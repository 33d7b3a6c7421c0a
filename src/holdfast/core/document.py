"""The Document: what a job file, a script or a command line says, whoever wrote it.

Nested values under dotted key paths, each with the place it came from, and `Unknown` where the
source does not say. Edits change a document by key path; each reader can write them back as text.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final, Literal

Key = tuple[str | int, ...]


class Absent(Enum):
    """The one value `ABSENT`: nobody wrote anything under that key."""

    ABSENT = "absent"

    def __bool__(self) -> Literal[False]:
        return False


ABSENT: Final = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value the source sets but does not state, such as one computed at run time.

    Attributes:
        because: Why it cannot be known, for a skip's reason.
    """

    because: str = "computed at run time"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value came from. Lines and columns count from 1, in characters; ends are exclusive.

    Attributes:
        path: The file, or what else said so: `--set`, an environment variable.
        line: None where the origin has no lines.
    """

    path: str
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


@dataclass(frozen=True, slots=True)
class Set:
    """Give a key a value; missing parents are made."""

    key: str
    value: Any


@dataclass(frozen=True, slots=True)
class Remove:
    """Take a key away."""

    key: str


@dataclass(frozen=True, slots=True)
class Rename:
    """Give a key another last name; its value and its position stay."""

    key: str
    name: str


Edit = Set | Remove | Rename


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Replace the characters from `start` up to `end`; both are (line, column), counted from 1."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


Kind = Literal["job", "script", "command"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What one source says of a job.

    Attributes:
        path: Name of the source, for messages.
        kind: Which reader made it.
        text: The source as it was read.
        values: Nested mappings and lists of plain values.
        places: Where each key path came from; the value's place, or the whole entry's.
        key_places: Where each key itself is written.
    """

    path: str
    kind: Kind
    text: str = ""
    values: Mapping[str, Any]
    places: Mapping[Key, Place] = field(default_factory=dict[Key, Place])
    key_places: Mapping[Key, Place] = field(default_factory=dict[Key, Place])

    def get(self, key: str, default: Any = ABSENT) -> Any:
        """Return the value under a dotted key, `Unknown` if the source hides it, or the default.

        >>> job = Document(path="job.yaml", kind="job", values={"train": {"max_length": 512}})
        >>> job.get("train.max_length"), job.get("train.seed")
        (512, <Absent.ABSENT: 'absent'>)
        """
        value: Any = self.values
        for part in parse_key(key):
            if isinstance(value, Unknown):
                return value
            value = _child(value, part)
            if value is ABSENT:
                return default
        return value

    def place(self, key: str | Key) -> Place:
        """Return where a key is written, or its nearest parent that is."""
        path = parse_key(key) if isinstance(key, str) else key
        while path:
            if found := self.key_places.get(path) or self.places.get(path):
                return found
            path = path[:-1]
        return Place(self.path)

    def with_values(self, edits: Iterable[Edit], origin: Place) -> "Document":
        """Return a copy with edits made that came from elsewhere, such as `--set`."""
        edits = tuple(edits)
        moved = {parse_key(edit.key): origin for edit in edits}
        return replace(
            self,
            values=apply_edits(self.values, edits),
            places={**self.places, **moved},
            key_places={**self.key_places, **moved},
        )


def parse_key(key: str) -> Key:
    """Split a dotted key; a part of digits alone is a position in a list.

    >>> parse_key("evaluate.0.dataset")
    ('evaluate', 0, 'dataset')
    """
    return tuple(int(part) if part.isdigit() else part for part in key.split(".")) if key else ()


def render_key(key: Key) -> str:
    """Join a key path with dots.

    >>> render_key(("evaluate", 0, "dataset"))
    'evaluate.0.dataset'
    """
    return ".".join(map(str, key))


def leaves(values: Any, key: Key = ()) -> Iterator[tuple[Key, Any]]:
    """Yield each innermost value with its key path; an empty mapping or list is a value."""
    children: Iterable[tuple[str | int, Any]] = ()
    if isinstance(values, Mapping):
        children = values.items()
    elif isinstance(values, list):
        children = enumerate(values)
    empty = True
    for part, value in children:
        empty = False
        yield from leaves(value, (*key, part))
    if empty:
        yield key, values


def apply_edits(values: Mapping[str, Any], edits: Iterable[Edit]) -> dict[str, Any]:
    """Return a copy of the values with the edits made, in order.

    Raises:
        KeyError: A key to remove or rename is not there, or a parent is no mapping.

    >>> apply_edits({"train": {"max_seq_length": 512}}, [Rename("train.max_seq_length", "max_length")])
    {'train': {'max_length': 512}}
    """
    result: Any = dict(values)
    for edit in edits:
        result = _apply(result, parse_key(edit.key), edit)
    return dict(result)


def apply_text_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """Return the text with every edit made; they may not overlap.

    >>> apply_text_edits("a: 1\\n", [TextEdit((1, 4), (1, 5), "2")])
    'a: 2\\n'
    """
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(position: tuple[int, int]) -> int:
        return starts[position[0] - 1] + position[1] - 1

    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: offset(edit.start)] + edit.text + text[offset(edit.end) :]
    return text


def _child(value: Any, part: str | int) -> Any:
    if isinstance(value, Mapping):
        return value.get(part, value.get(str(part), ABSENT))
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part]
    return ABSENT


def _apply(values: Any, key: Key, edit: Edit) -> Any:
    first, rest = key[0], key[1:]
    if isinstance(values, list):
        items = list(values)
        items[int(first)] = _apply(items[int(first)], rest, edit) if rest else _leaf({0: items[int(first)]}, 0, edit)[0]
        return items
    if not isinstance(values, Mapping):
        raise KeyError(edit.key)
    name = first if first in values else str(first)
    if not rest:
        return _leaf(values, name, edit)
    if name not in values and not isinstance(edit, Set):
        raise KeyError(edit.key)
    return {**values, name: _apply(values.get(name) if values.get(name) is not None else {}, rest, edit)}


def _leaf(values: Mapping[Any, Any], name: str | int, edit: Edit) -> dict[Any, Any]:
    match edit:
        case Set(_, value):
            return {**values, name: value}
        case Remove(key):
            if name not in values:
                raise KeyError(key)
            return {other: value for other, value in values.items() if other != name}
        case Rename(key, new):
            if name not in values:
                raise KeyError(key)
            return {new if other == name else other: value for other, value in values.items()}
