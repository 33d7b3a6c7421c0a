"""Rows unlike almost all others: a mapping is read from the usual rows, and leaves the others out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from holdfast.catalog.formats.words import CALLS, THOUGHTS
from holdfast.core.rows.scan import FIRST_ROWS, DamagedRows, LackingRows, RowCount, ValueKind
from holdfast.engine.mapping.spellings import CONTENT_KEYS, ROLE_KEYS, ROLES, role_of
from holdfast.engine.script.python_source import render_literal

MOST_UNUSUAL: Final = 0.25
"""If a larger share of the rows is unlike the others, it is not known which are meant."""
CLASSES: Final[Mapping[ValueKind, str]] = {
    "text": "str",
    "number": "(str, int, float)",
    "flag": "bool",
    "list": "list",
    "record": "dict",
}
WRITTEN: Final = frozenset[ValueKind](("text", "number"))
"""Kinds that a mapping of numbers writes alike. In a column of both, `datasets` gives a text such as "7" as the number (tried with 5.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualValues:
    """What the values of a column are in almost all rows.

    Attributes:
        kind: Their kind.
        role: Of messages: the key of the speaker; empty if they are none.
        content: Of messages whose content is text: its key.
        roles: Of messages: the speakers.
        mixed: Of messages: whether some rows hold other elements than messages.
        excuses: Of messages: the fields, such as calls of tools, beside which a message may have no content.
    """

    kind: ValueKind
    role: str = ""
    content: str = ""
    roles: frozenset[str] = frozenset()
    mixed: bool = False
    excuses: tuple[str, ...] = ()

    @property
    def kinds(self) -> frozenset[ValueKind]:
        """The kinds that are as usual: beside numbers, a text is."""
        return WRITTEN if self.kind == "number" else frozenset((self.kind,))

    def has(self, value: object) -> bool:
        """True if a value is as usual; null is no value."""
        if value is None:
            return True
        if kind_of(value) not in self.kinds or value == []:
            return False
        return not self.role or all(self._has_turn(turn) for turn in value)  # type: ignore[attr-defined]  # a list

    def _has_turn(self, turn: object) -> bool:
        if not isinstance(turn, Mapping):
            return False
        has_content = not self.content or isinstance(turn.get(self.content), str) or any(map(turn.get, self.excuses))
        return _is_known(turn.get(self.role)) and has_content

    def tests(self, name: str, lacking: LackingRows) -> Iterator[str]:
        """Yield the expressions that are true of a row whose value is as usual, as far as some rows have another."""
        value = f"row[{render_literal(name)}]"
        if lacking.others(name, self.kinds):
            yield f"isinstance({value}, {CLASSES[self.kind]})"
        if self.kind == "list" and name in lacking.empties:
            yield f"len({value}) > 0"
        if self.role and name in lacking.strange:
            yield f"all({self._turn_test()} for turn in {value})"

    def _turn_test(self) -> str:
        """Return the expression that is true of a `turn` that is as usual."""
        seen = {each.lower() for each in self.roles}
        known = "{" + ", ".join(render_literal(each) for each in ROLES if each in seen) + "}"
        is_mapping = "isinstance(turn, dict) and " if self.mixed else ""
        has_content = f" and {self._content_test()}" if self.content else ""
        return f"{is_mapping}str(turn.get({render_literal(self.role)})).lower() in {known}{has_content}"

    def _content_test(self) -> str:
        conditions = [f"isinstance(turn.get({render_literal(self.content)}), str)"]
        conditions += [f"turn.get({render_literal(each)})" for each in self.excuses]
        return f"({' or '.join(conditions)})" if self.excuses else conditions[0]

    def unusual(self, name: str, lacking: LackingRows) -> Iterator[RowCount]:
        """Yield the rows for which one of the tests is false."""
        yield from lacking.others(name, self.kinds)
        if self.kind == "list" and name in lacking.empties:
            yield lacking.empties[name]
        if self.role and name in lacking.strange:
            yield lacking.strange[name]


def kind_of(value: object) -> ValueKind | None:
    """Return the kind of a value; None of null, and of what JSON does not have.

    >>> [kind_of(value) for value in ("1", 1.0, True, [1], {"a": 1}, None)]
    ['text', 'number', 'flag', 'list', 'record', None]
    """
    match value:
        case str():
            return "text"
        case bool():
            return "flag"
        case int() | float():
            return "number"
        case list() | tuple():
            return "list"
        case Mapping():
            return "record"
        case _:
            return None


def _is_known(speaker: object) -> bool:
    """True of the name of a speaker; what stands in its place may be anything."""
    return role_of(speaker) is not None


def usual_values(samples: Sequence[Mapping[str, Any]], lacking: LackingRows) -> dict[str, UsualValues]:
    """Return the usual values of those columns in which a few rows have others, in the samples or beyond them."""
    names = dict.fromkeys(name for row in samples for name in row)
    beyond = {*lacking.strange, *lacking.empties}
    read = {name: _usual([row.get(name) for row in samples], beyond=name in beyond) for name in names}
    return {name: usual for name, usual in read.items() if usual}


def _usual(values: Sequence[Any], *, beyond: bool) -> UsualValues | None:
    known: list[ValueKind] = [kind for kind in map(kind_of, values) if kind]
    kinds = Counter(known)
    if not kinds:
        return None
    kind: ValueKind = kinds.most_common(1)[0][0]
    usual = _with_turns(kind, values) if kind == "list" else UsualValues(kind=kind)
    odd = sum(not usual.has(value) for value in values)
    return usual if (odd or beyond) and odd < MOST_UNUSUAL * kinds.total() else None


def _with_turns(kind: ValueKind, values: Sequence[Any]) -> UsualValues:
    held = list(chain.from_iterable(value for value in values if isinstance(value, list)))
    turns = [turn for turn in held if isinstance(turn, Mapping)]
    role, content = _first_key(ROLE_KEYS, turns), _first_key(CONTENT_KEYS, turns)
    parts = sum(isinstance(turn.get(content), list) for turn in turns)
    return UsualValues(
        kind=kind,
        role=role,
        content=content if role and parts < MOST_UNUSUAL * len(turns) else "",
        roles=_speakers(turns, role),
        mixed=len(turns) < len(held),
        excuses=_excuses(turns),
    )


def _first_key(names: Iterable[str], turns: Sequence[Mapping[str, Any]]) -> str:
    """Return the first name that is a key of any turn; empty if none is."""
    return next((name for name in names if any(name in turn for turn in turns)), "")


def _speakers(turns: Sequence[Mapping[str, Any]], role: str) -> frozenset[str]:
    """Return the known speakers of turns by the key that names them; none without a key."""
    return frozenset(turn[role] for turn in turns if role and _is_known(turn.get(role)))


def _excuses(turns: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the fields beside which a message may have no content, as far as any turn has them."""
    return tuple(name for name in (*CALLS, *THOUGHTS) if any(turn.get(name) for turn in turns))


def strange_samples(usual: Mapping[str, UsualValues], samples: Sequence[Mapping[str, Any]]) -> dict[str, RowCount]:
    """Return the rows with messages unlike the usual ones, by column."""
    found: dict[str, RowCount] = {}
    for name, each in usual.items():
        rows = [at for at, row in enumerate(samples) if kind_of(row.get(name)) == each.kind and not each.has(row[name])]
        if each.role and (strange := tuple(at for at in rows if samples[at][name])):
            found[name] = RowCount(len(strange), strange[:FIRST_ROWS])
    return found


def strange_rows(marked: Sequence[DamagedRows]) -> dict[str, RowCount]:
    """Return the rows with messages of an unknown speaker, or whose content is null or no text, by column."""
    found: dict[str, list[DamagedRows]] = {}
    for each in marked:
        unknown = each.mark == "unknown-role" and role_of(each.detail) is None
        if unknown or each.mark == "wrong-type" or (each.mark == "empty-turn" and each.detail != "blank"):
            found.setdefault(each.column, []).append(each)
    return {name: _union(some) for name, some in found.items()}


def _union(some: Sequence[DamagedRows]) -> RowCount:
    rows = tuple(sorted({row for each in some for row in each.rows}))
    listed = all(each.count == len(each.rows) for each in some)
    return RowCount(len(rows) if listed else sum(each.count for each in some), rows)
