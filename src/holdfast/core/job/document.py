"""The Document: what a job file, a script or a command line says, whoever wrote it.

Nested values under dotted key paths, each with the place it came from, and `Unknown` where the
source does not say. Edits change a document by key path; each reader can write them back as text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final, Literal

from holdfast.core.job.calls import AttributeRead, Call, Import, OverriddenMethod
from holdfast.core.job.job_calls import job_calls
from holdfast.core.text.places import Place

Key = tuple[str | int, ...]

SHORT_FOR: Final[Mapping[Key, str]] = {("model",): "path", ("dataset",): "path"}
"""Keys whose value may be a plain text that stands for a mapping with this one key: `model: x` is `model: {path: x}`."""

POSITION: Final = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)


class Absent(Enum):
    """The one value `ABSENT`: the key is not set."""

    ABSENT = "absent"

    def __bool__(self) -> Literal[False]:
        return False


ABSENT: Final = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value the source sets but does not state, such as one computed at run time.

    Attributes:
        because: Why it cannot be known, for a skip's reason.
        holds: Whether it counts as true, where that alone is known: what `x or "none"` yields does.
    """

    because: str = "computed at run time"
    holds: bool | None = field(default=None, repr=False)


FROM_ENVIRONMENT: Final = Unknown("it comes from the environment")
"""A value that a program takes from an environment variable."""


@dataclass(frozen=True, slots=True)
class Set:
    """Give a key a value; missing parents are made.

    Attributes:
        key: The key.
        value: The value.
        of: Key of another that has it now, where it moves: what is written there is written here then.
    """

    key: str
    value: Any
    of: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Remove:
    """Take a key away."""

    key: str


@dataclass(frozen=True, slots=True)
class Rename:
    """Give a key another last name; its value and its position stay."""

    key: str
    name: str


@dataclass(frozen=True, slots=True)
class ReplaceCall:
    """Write a program's call as another expression; its arguments stay, and so do the values.

    Attributes:
        key: The call's.
        expression: What is written instead, with `(…)` for the arguments: `SFTConfig(…)`. Without it they go, too.
        imports: Dotted paths of the names in it.
    """

    key: str
    expression: str
    imports: tuple[str, ...] = ()


ValueEdit = Set | Remove | Rename
"""What changes values."""
Edit = ValueEdit | ReplaceCall


DocumentKind = Literal["job", "script", "command", "data"]
"""What a document was made of; `data` is a dataset without a job, with its intended use."""


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
        imports: What it imports, in order.
        calls: What it calls of libraries, in order.
        fallbacks: Imports that stand in for one another, by a `try` or a branch on a version: the places of each arm's.
        reads: Which attributes it reads of libraries' settings and of its own, in order.
        overrides: Which methods of libraries' trainers and callbacks its own classes define anew, in order.
        asked: Texts that it looks for in something, by `in` or `hasattr`, before it reads them.
        assumed: Options of its command line that are taken to have their defaults, because nothing says what they are given.
        has_defaults: Whether it has options that could be taken so.
    """

    path: str
    kind: DocumentKind
    text: str = ""
    values: Mapping[str, Any]
    places: Mapping[Key, Place] = field(default_factory=dict[Key, Place])
    key_places: Mapping[Key, Place] = field(default_factory=dict[Key, Place])
    imports: tuple[Import, ...] = ()
    calls: tuple[Call, ...] = ()
    reads: tuple[AttributeRead, ...] = ()
    overrides: tuple[OverriddenMethod, ...] = ()
    fallbacks: tuple[tuple[tuple[Place, ...], ...], ...] = ()
    asked: frozenset[str] = frozenset()
    assumed: tuple[str, ...] = ()
    has_defaults: bool = False

    def get(self, key: str, default: Any = ABSENT) -> Any:
        """Return the value under a dotted key, `Unknown` if the source hides it, or the default.

        >>> job = Document(path="job.yaml", kind="job", values={"model": "tiny", "train": {"max_length": 512}})
        >>> job.get("train.max_length"), job.get("train.seed"), job.get("model.path")
        (512, <Absent.ABSENT: 'absent'>, 'tiny')
        """
        value: Any = self.values
        at: Key = ()
        for part in parse_key(key):
            value = _spelled_out(value, at)
            if isinstance(value, Unknown):
                return value
            value = _child(value, part)
            if value is ABSENT:
                return default
            at = (*at, part)
        return value

    def call(self, key: str) -> Call | None:
        """Return the call whose arguments stand under a key; None if there is none."""
        return next((call for call in self.calls if call.key == key), None)

    def with_own_calls(self) -> "Document":
        """Return a copy of a job file's document with the calls that its values stand for."""
        made = job_calls(self.values, lambda key: self.places.get((key,)), self.place)
        return replace(self, calls=tuple(made))

    def place(self, key: str | Key) -> Place:
        """Return where a key is written, or its nearest parent that is."""
        path = parse_key(key) if isinstance(key, str) else key
        while path:
            if found := self.key_places.get(path) or self.places.get(path):
                return found
            path = path[:-1]
        return Place(self.path)

    def with_values(self, edits: Iterable[Edit], origin: Place) -> "Document":
        """Return a copy with edits made that came from elsewhere, such as `--set`; the calls of a job file are those of its new values.

        Raises:
            KeyError: See `apply_edits`.
        """
        made = tuple(edit for edit in edits if not isinstance(edit, ReplaceCall))
        set_keys = {_key_after(edit) for edit in made if not isinstance(edit, Remove)}
        begun = {key[:end] for key in set_keys for end in range(1, len(key)) if key[0] not in self.values}
        moved = dict.fromkeys(set_keys | begun, origin)
        touched = {parse_key(edit.key) for edit in made} | set(moved)

        def kept(places: Mapping[Key, Place]) -> dict[Key, Place]:
            return {key: place for key, place in places.items() if touched.isdisjoint(_with_parents(key))}

        changed = replace(
            self,
            values=apply_edits(self.values, made),
            places={**kept(self.places), **moved},
            key_places={**kept(self.key_places), **moved},
        )
        return changed.with_own_calls() if self.kind == "job" else changed


def parse_key(key: str) -> Key:
    """Split a dotted key; a part of digits alone is a position in a list.

    >>> parse_key("evaluate.0.dataset")
    ('evaluate', 0, 'dataset')
    """
    return tuple(int(part) if POSITION.fullmatch(part) else part for part in key.split(".")) if key else ()


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
        KeyError: A key to remove or rename is not there, a new name is taken, a position is past
            the end of its list, or a parent is neither mapping nor list.

    >>> apply_edits({"train": {"max_seq_length": 512}}, [Rename("train.max_seq_length", "max_length")])
    {'train': {'max_length': 512}}
    """
    result = dict(values)
    for edit in edits:
        if not isinstance(edit, ReplaceCall):
            result = _edited(result, parse_key(edit.key), edit)
    return result


def _key_after(edit: Set | Rename) -> Key:
    key = parse_key(edit.key)
    return key if isinstance(edit, Set) else (*key[:-1], edit.name)


def _with_parents(key: Key) -> Iterator[Key]:
    return (key[:length] for length in range(1, len(key) + 1))


def _spelled_out(value: Any, at: Key) -> Any:
    return {SHORT_FOR[at]: value} if at in SHORT_FOR and isinstance(value, str) else value


def _name_in(value: Any, part: str | int) -> str | int | Absent:
    """Return the key or index in a mapping or list that a part of a key names; digits may also be a mapping's key."""
    if isinstance(value, list):
        return part if isinstance(part, int) and part < len(value) else ABSENT
    names = (part, str(part)) if isinstance(value, Mapping) else ()
    return next((name for name in names if name in value), ABSENT)


def _child(value: Any, part: str | int) -> Any:
    name = _name_in(value, part)
    return ABSENT if name is ABSENT else value[name]


def _edited(value: Any, key: Key, edit: ValueEdit, at: Key = ()) -> Any:
    """Return a copy of the value that stands at one key path, with the edit made at `key` below it."""
    value = _spelled_out({} if value is None else value, at)
    name = _edited_name(value, key, edit)
    if len(key) > 1:
        child = _child(value, name)
        return _with_child(value, name, _edited(None if child is ABSENT else child, key[1:], edit, (*at, name)))
    return _with_child(value, name, edit.value) if isinstance(edit, Set) else _without(value, name, edit)


def _edited_name(value: Any, key: Key, edit: ValueEdit) -> str | int:
    """Return the name or index in a value at which an edit is made: a new one, if it sets a value in a mapping.

    Raises:
        KeyError: There is none.
    """
    name = _name_in(value, key[0]) if key else ABSENT
    if name is not ABSENT:
        return name
    if key and isinstance(edit, Set) and isinstance(value, Mapping):
        return str(key[0])
    raise KeyError(edit.key)


def _with_child(value: Any, name: str | int, child: Any) -> Any:
    if isinstance(value, list):
        return [child if position == name else old for position, old in enumerate(value)]
    return {**value, name: child}


def _without(value: Any, name: str | int, edit: Remove | Rename) -> dict[Any, Any]:
    """Return a copy of the mapping that lacks a name, or has another in its place."""
    if isinstance(value, list):
        raise KeyError(edit.key)
    if isinstance(edit, Remove):
        return {other: child for other, child in value.items() if other != name}
    if edit.name != name and edit.name in value:
        raise KeyError(edit.key)
    return {edit.name if other == name else other: child for other, child in value.items()}
