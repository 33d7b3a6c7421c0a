"""Rows to stand in place of a script's own: such as most of its own are, and such as are known to be good.

The script's lines that read rows still run, so the columns and the types of values stay; what a value says is another.
"""

import ast
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, Final

from holdfast.catalog.builtin.known_good import (
    HUMAN,
    PERSON,
    KnownRowKind,
    columns_of,
    good_text,
    good_truth,
    good_turns,
    good_value,
    part_of,
)
from holdfast.core.text.json_text import parse_json
from holdfast.engine.rehearse.source_code import nodes_of

Row = Mapping[str, Any]

COUNT: Final = 32
"""Rows that are given: some more than a rehearsal trains on."""
LEAST: Final = 4
"""Rows under which they are too few to tell what is usual."""
ANSWERED: Final = ("prompt", "completion", "chosen", "rejected")
"""Columns of methods that hold texts or messages."""
USUAL: Final = 0.25
"""Share of rows that must have a value of a kind for the kind to be usual."""
FEW: Final = 8
"""Different values of a column up to which it is one of choices, which the script may know by heart."""
OFTEN: Final = 0.1
"""Share of rows that a choice has at least."""


@dataclass(frozen=True, slots=True)
class RecordedRows:
    """The rows that one line of the script read.

    Attributes:
        line: Its number.
        rows: Some rows; None if they could not be read, or are no JSON.
        features: The types of their columns, as `datasets.Features.to_dict` gives them; None if they are not known.
    """

    line: int
    rows: Sequence[Row] | None
    features: Mapping[str, Any] | None = None

    @property
    def columns(self) -> frozenset[str]:
        """The names of all columns."""
        return frozenset(name for row in self.rows or () for name in row)


@dataclass(frozen=True, slots=True)
class _Column:
    """A column: its name, its values as far as there are any, and what it stands among."""

    name: str
    values: Sequence[Any] = field(default_factory=tuple)
    alone: bool = False  # no other column has the prompt

    def inside(self, name: str, values: Iterable[Any]) -> "_Column":
        return _Column(name, [each for each in values if each is not None], self.alone)


def usual_rows(noted: RecordedRows) -> list[Row] | None:
    """Return those of the script's rows that are as most are, without the longest and the shortest; None: too few are."""
    rows = list(noted.rows or ())
    traits = [_traits(row) for row in rows]
    usual = _common(traits, USUAL * len(rows))
    kept = [
        row for row, own in zip(rows, traits, strict=True) if own <= usual and not any(map(_is_empty, row.values()))
    ]
    kept.sort(key=lambda row: len(json.dumps(row)))
    tenth = len(kept) // 10
    kept = kept[tenth : len(kept) - tenth]
    return kept[:COUNT] if len(kept) >= LEAST else None


def _traits(row: Row) -> frozenset[tuple[str, object]]:
    """Return the traits in which a row may be odd: its columns, which of them say the same, and the kind of each value."""
    kinds = ((f"column {name}", _shape(value)) for name, value in row.items())
    return frozenset({("columns", frozenset(row)), ("alike", _alike(row)), *kinds})


def _common(traits: Iterable[Iterable[tuple[str, object]]], least: float) -> frozenset[tuple[str, object]]:
    """Return the traits that many rows have."""
    counts = Counter(chain.from_iterable(traits))
    return frozenset(trait for trait, count in counts.items() if count >= least)


def typed_rows(noted: RecordedRows, first: int) -> list[Row] | None:
    """Return good rows with the columns and types that the script's own have; None if no good value is known for one.

    Args:
        noted: The script's own.
        first: Number of the first row.
    """
    if not noted.rows:
        return None
    asks = any(part_of(name) == "question" for name in noted.columns)
    columns = [
        _Column(name, [row[name] for row in noted.rows if row.get(name) is not None], not asks)
        for name in sorted(noted.columns)
    ]
    try:
        return [{column.name: _value(column, number) for column in columns} for number in _numbers(first)]
    except LookupError:
        return None


def method_rows(noted: RecordedRows, method: str, reads: Iterable[str], first: int) -> list[Row]:
    """Return good rows as a method's trainer takes them, with the script's other columns.

    Args:
        noted: The script's own rows.
        method: By its name: `dpo`.
        reads: What the script's text reads by name: columns, where its own rows could not be read; `content`, where it
            expects messages.
        first: Number of the first row.
    """
    reads = frozenset(reads)
    own = noted.columns or reads
    needed = _needed(method, own, noted, spoken="content" in reads)
    others = typed_rows(noted, first) or [{name: good_text(name, n) for name in own} for n in _numbers(first)]
    return [
        {**row, **{name: good_value(name, kind, number) for name, kind in needed.items()}}
        for number, row in zip(_numbers(first), others, strict=True)
    ]


def columns_read(source: str) -> set[str]:
    """Return the texts that a script's lines index something with to read it, which columns are among.

    >>> sorted(columns_read('ds.map(lambda row: {"text": row["question"] + row["answer"]})'))
    ['answer', 'question']
    """
    return {
        node.slice.value
        for node in nodes_of(source)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    }


def _numbers(first: int) -> range:
    return range(first, first + COUNT)


def _needed(method: str, own: frozenset[str], noted: RecordedRows, *, spoken: bool) -> Mapping[str, KnownRowKind]:
    """Return the columns that a method takes, as near to the script's own as they can be."""
    spoken = _is_spoken(noted, otherwise=spoken)
    if method != "sft":
        return columns_of(method, turns=spoken)
    if "messages" in own:
        return columns_of("sft", turns=True)
    if own & {"prompt", "completion"}:
        return {"prompt": "turns", "completion": "turns"} if spoken else columns_of("sft", turns=False)
    return {"text": "text"} if "text" in own else columns_of("sft", turns=True)


def _is_spoken(noted: RecordedRows, *, otherwise: bool) -> bool:
    """True if the script's own prompts and answers are messages, and no texts; if it has none, what is known otherwise."""
    taken = [row[name] for row in noted.rows or () for name in ANSWERED if row.get(name) is not None]
    return any(isinstance(each, list) for each in taken) if taken else otherwise


def _value(column: _Column, number: int) -> Any:
    """Return a good value of the type that most values of a column have.

    Raises:
        LookupError: None is known.
    """
    if not column.values:
        return good_text(column.name, number)
    kinds = Counter(type(value) for value in column.values)
    kind = kinds.most_common(1)[0][0]
    values = [value for value in column.values if type(value) is kind]
    make = MAKERS.get(kind)
    if make is None:
        raise LookupError(column.name)
    return make(_Column(column.name, values, column.alone), number)


def _text_value(column: _Column, number: int) -> Any:
    parsed = [*_parsed(column.values)]
    if len(parsed) > len(column.values) / 2:
        return json.dumps(_value(column.inside(column.name, parsed), number))
    if choices := _choices(column):
        return choices[number % len(choices)]
    numbers = sum(_is_number(value) for value in column.values)
    return good_text("solution" if numbers > len(column.values) / 2 else column.name, number)


def _number_value(column: _Column, number: int) -> Any:
    choices = _choices(column) or [type(column.values[0])(number)]
    return choices[number % len(choices)]


def _list_value(column: _Column, number: int) -> Any:
    items = [item for item in chain.from_iterable(column.values) if item is not None]
    if keys := _turn_keys(items):
        return good_turns(column.name, number, keys, alone=column.alone)
    if column.name in TOKENS:
        return [TOKENS[column.name](place) for place in range(4 + number % 4)]
    return [_value(column.inside(column.name, items), number)] if items else []


TOKENS: Final[Mapping[str, Callable[[int], int]]] = {
    "input_ids": lambda place: 5 + place,
    "labels": lambda place: 5 + place,
    "attention_mask": lambda _: 1,
}
"""Columns of tokenized rows, and a good value by the place in the row."""


def _turn_keys(items: Sequence[Any]) -> tuple[str, str] | None:
    """Return the keys of a turn that most of some items have; None if they are no turns."""
    for keys in (PERSON, HUMAN):
        if sum(isinstance(item, dict) and {*keys} <= item.keys() for item in items) > len(items) / 2:
            return keys
    return None


def _mapping_value(column: _Column, number: int) -> Any:
    names = {name for value in column.values for name in value}
    return {
        name: _value(column.inside(name, (value.get(name) for value in column.values)), number)
        for name in sorted(names)
    }


MAKERS: Final[Mapping[type, Any]] = {
    str: _text_value,
    bool: lambda _, number: good_truth(number),
    int: _number_value,
    float: _number_value,
    list: _list_value,
    dict: _mapping_value,
}


def _choices(column: _Column) -> list[Any]:
    """Return the values of a column that has few different ones, each in many rows; empty if it has not."""
    counts = Counter(column.values)
    often = [value for value, count in counts.items() if count >= OFTEN * len(column.values)]
    known = len(column.values) > (FEW if part_of(column.name) == "truth" else 2 * FEW)
    fit = known and len(often) <= FEW and sum(counts[value] for value in often) > len(column.values) / 2
    return sorted(value for value in often if not _is_empty(value)) if fit else []


def _parsed(values: Iterable[str]) -> Iterator[Any]:
    """Yield the lists and mappings that texts are JSON of."""
    for value in values:
        try:
            parsed = parse_json(value)
        except ValueError:
            continue
        if isinstance(parsed, list | dict):
            yield parsed


def _shape(value: Any) -> str:
    """Return the kind of a value, so that odd ones stand out."""
    if isinstance(value, str):
        return "number" if _is_number(value) else "text"
    if isinstance(value, list):
        return _shape_of_list(value)
    return f"mapping {sorted(value)}" if isinstance(value, dict) else type(value).__name__


def _shape_of_list(values: Sequence[Any]) -> str:
    """Return the kind of a list: its speakers, whether one speaks twice in a row or says nothing, and the number of types of items."""
    turns = [each for each in values if isinstance(each, dict)]
    spoken = [str(each.get("role", each.get("from", ""))) for each in turns]
    twice = any(one == other for one, other in pairwise(spoken))
    hollow = any(_is_empty(each.get("content", each.get("value", 0))) for each in turns)
    return f"list {sorted(set(spoken))} {twice} {hollow} {len({type(each) for each in values})}"


def _alike(row: Row) -> str:
    """Return which columns of a row say the same."""
    texts = [(name, value) for name, value in sorted(row.items()) if isinstance(value, str | list) and value]
    return str([(one, other) for one, a in texts for other, b in texts if one < other and a == b])


def _is_empty(value: Any) -> bool:
    return value is None or value == [] or (isinstance(value, str) and not value.strip())


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return True
