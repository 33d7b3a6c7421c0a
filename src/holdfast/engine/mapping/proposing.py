"""Propose the mapping that makes a dataset fit a method."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from itertools import chain
from typing import Any, Final

from holdfast.catalog.formats import DEFAULTS, ColumnSettings, judge, read_columns, recognise, settle, types_of_rows
from holdfast.catalog.formats.unread import unread_columns
from holdfast.catalog.formats.words import CONVERSATIONS
from holdfast.core.job.methods import Method
from holdfast.core.rows.columns import STRING, ListOf, Scalar, Struct, Type
from holdfast.core.rows.scan import LackingRows, RowCount
from holdfast.core.rows.shape import Shape
from holdfast.engine.mapping.applying import map_rows
from holdfast.engine.mapping.found import ColumnReading, DataProfile, Uncertainty, lacking_rows
from holdfast.engine.mapping.known import read_known
from holdfast.engine.mapping.readings import (
    Reading,
    read_answers,
    read_labelled,
    read_pairs,
    read_requests,
    read_solutions,
    read_whole,
)
from holdfast.engine.mapping.spellings import ROLE_KEYS
from holdfast.engine.mapping.trying import find_fault
from holdfast.engine.mapping.turns import (
    read_aligned,
    read_asked,
    read_continued,
    read_judged,
    read_prompts,
    read_turns,
)
from holdfast.engine.mapping.usual import strange_samples, usual_values
from holdfast.engine.mapping.winners import read_winners
from holdfast.engine.mapping.writing import dropped_rows, write

ColumnReader = Callable[[DataProfile], Iterator[Reading]]

# What is tried for each method, the surest first.
PAIRS: Final[tuple[ColumnReader, ...]] = (read_known, read_aligned, read_continued, read_pairs, read_winners)
PROMPTS: Final[tuple[ColumnReader, ...]] = (
    read_prompts,
    read_solutions,
    read_turns,
    read_asked,
    read_known,
    read_aligned,
    read_continued,
    read_requests,
)
READERS: Final[Mapping[Method, tuple[ColumnReader, ...]]] = {
    Method.SFT: (
        read_known,
        read_judged,
        read_turns,
        read_labelled,
        read_aligned,
        read_continued,
        read_pairs,
        read_answers,
        read_whole,
    ),
    Method.DPO: PAIRS,
    Method.REWARD: PAIRS,
    Method.KTO: (*PAIRS, read_labelled, read_judged),
    Method.GRPO: PROMPTS,
    Method.RLOO: PROMPTS,
}
NOTHING: Final[Mapping[Method, str]] = {
    Method.SFT: "no column is surely the text or the answer to learn",
    Method.DPO: "there are no two answers to compare",
    Method.REWARD: "there are no two answers to compare",
    Method.KTO: "nothing says which answers are good",
    Method.GRPO: "no column is surely the prompt",
    Method.RLOO: "no column is surely the prompt",
}

READ_FIELD: Final = (
    "the rows {are} the elements of `{name}`: read them with "
    '`load_dataset("json", data_files=..., field="{name}")`, or write one of them a line'
)
TURNS: Final = (*CONVERSATIONS, "conversation", "turns", "dialog", "dialogue", "history")
"""Names of a list that is one conversation, even where it is all there is."""
VALUES: Final = (Scalar("boolean"), Scalar("integer"), Scalar("float"))
MOST_TRIED: Final = 200
"""Rows of a list that a mapping is tried on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A mapping, or why there is none.

    Attributes:
        source: A Python module with `def rewrite(row)`, tried on the samples; None if there is none to give.
        removes: Columns of the data that the mapping takes away: for `dataset.map(rewrite, remove_columns=[...])`.
        casts: Columns of text that it makes numbers or truth values of, to be cast to `Value("string")` first.
        drops: Rows that the module's `keep(row)` leaves out, by the column that has no usable value in them; empty if it has none.
        field: Of a JSON file with one object, the list in it that holds the rows: for `load_dataset("json", field=...)`;
            empty if the rows stand by themselves.
        because: Why there is none; empty if there is one, and where none is needed.
    """

    source: str | None = None
    removes: tuple[str, ...] = ()
    casts: tuple[str, ...] = ()
    drops: Mapping[str, RowCount] = dataclass_field(default_factory=dict[str, RowCount])
    field: str = ""
    because: str = ""


def propose(
    method: Method | str,
    columns: Mapping[str, Type | None],
    shape: Shape,
    samples: Sequence[Mapping[str, Any]],
    settings: ColumnSettings = DEFAULTS,
    lacking: LackingRows | None = None,
) -> Proposal:
    """Return the code that makes a dataset fit a method, compiled and tried on every sample row.

    Nothing where the method can train on it as it is without a caveat.

    Args:
        method: The method.
        columns: Type of each column; None if it is not known.
        shape: What `recognise` said of them.
        samples: Rows of the data, as Python values; without any there is no proposal.
        settings: What the job says that matters here.
        lacking: Rows that lack a value, where more is known than the samples show.
    """
    method = Method(method)
    settled = settle(columns, samples)
    lacking = lacking or lacking_rows(settled, samples)
    data = DataProfile(columns=settled, samples=samples, shape=shape, settings=settings, lacking=lacking)
    found = _propose(method, data)
    if not found.field and (usual := _without_unusual_rows(data)):
        without = _propose(method, usual)
        damaged = {*usual.lacking.strange, *usual.lacking.empties} & without.drops.keys()
        return without if without.source and (damaged or found.source is None) else found
    return found


def _without_unusual_rows(data: DataProfile) -> DataProfile | None:
    """Return the data without the rows that are unlike almost all others; None if there are none of those."""
    unusual = usual_values(data.samples, data.lacking)
    numbered = [each for each in data.numbered if all(usual.has(each[1].get(name)) for name, usual in unusual.items())]
    if not unusual or not numbered:
        return None
    numbers, rows = zip(*numbered, strict=True)
    columns = settle(data.columns, rows)
    shape = recognise(columns, rows, data.settings)
    strange = strange_samples(unusual, data.samples)
    lacking = replace(data.lacking, strange={**strange, **data.lacking.strange})
    return replace(data, columns=columns, samples=rows, shape=shape, lacking=lacking, unusual=unusual, numbers=numbers)


def _propose(method: Method, data: DataProfile) -> Proposal:
    readiness = judge(method, data.columns, data.shape, data.settings)
    if readiness.ready and not readiness.caveat:
        return Proposal()
    if not data.samples:
        return Proposal(because="no rows to try a mapping on")
    return _propose_field(method, data) or _propose_mapping(method, data)


def _propose_mapping(method: Method, data: DataProfile) -> Proposal:
    """Return the first reading that stands the trial; if there is none, the field that may hold the rows, or why there is none."""
    found = _first_good(method, data)
    if found.because == NOTHING[method] and not data.shape.types:
        return _possible_field(data) or found
    return found


def _possible_field(data: DataProfile) -> Proposal | None:
    """Return the field of a JSON file that may hold the rows; None if none holds several objects."""
    name = next((name for name, rows in _wrapped_rows(data) if len(rows) > 1), "")
    return Proposal(field=name, because=READ_FIELD.format(name=name, are="may be")) if name else None


def _first_good(method: Method, data: DataProfile) -> Proposal:
    """Return the first reading that stands the trial, or why the first of them does not."""
    because = ""
    for reading in chain.from_iterable(reader(data) for reader in READERS[method]):
        trial = _trial(method, reading, data)
        if trial.source or _has_bad_answers(method, reading):
            return trial
        because = because or trial.because
    return Proposal(because=because or NOTHING[method])


def _has_bad_answers(method: Method, reading: Reading) -> bool:
    """True if a method would learn bad answers as well: no other reading of the data is tried then."""
    return method is Method.SFT and isinstance(reading, ColumnReading) and "label" in reading.parts


def _trial(method: Method, reading: Reading, data: DataProfile) -> Proposal:
    """Return the proposal that a reading leads to, or why it leads to none."""
    if isinstance(reading, Uncertainty):
        return Proposal(because=reading.because)
    if _has_bad_answers(method, reading):
        return Proposal(because="some of its answers are bad ones, which sft would learn as well")
    read = read_columns(method, data.columns, data.settings)
    if "text" in read and "text" not in reading.uses:
        return Proposal(because="`text` is what it trains on")
    if left_out := [name for name in unread_columns(method, read, data.forms, data.shape) if name not in reading.uses]:
        return Proposal(because=f"whether `{left_out[0]}` belongs to the prompt is not certain")
    source = write(method, reading, data)
    fault = find_fault(source, method, reading, data) if source else ""
    return _proposal(source, method, reading, data) if source and not fault else Proposal(because=fault)


def _proposal(source: str, method: Method, reading: ColumnReading, data: DataProfile) -> Proposal:
    """Return a mapping with what it does to the columns and rows that it does not write."""
    made = types_of_rows(list(map_rows(data.samples, source)))
    return Proposal(
        source=source,
        removes=tuple(name for name in data.columns if name not in made),
        casts=tuple(name for name, kind in data.columns.items() if kind == STRING and made.get(name) in VALUES),
        drops=dropped_rows(method, reading, data),
    )


def _propose_field(method: Method, data: DataProfile) -> Proposal | None:
    """Return the proposal for a JSON file whose one object holds the rows in a list; None if it holds none that fit."""
    for name, rows in _wrapped_rows(data):
        columns = types_of_rows(rows)
        shape, lacking = recognise(columns, rows, data.settings), lacking_rows(columns, rows)
        inner = propose(method, columns, shape, rows[:MOST_TRIED], data.settings, lacking)
        if inner.source:
            return replace(inner, field=name)
        if not inner.because:
            return Proposal(field=name, because=READ_FIELD.format(name=name, are="are"))
    return None


def _wrapped_rows(data: DataProfile) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    """Yield the columns of a lone row that hold a list of objects, and no conversation."""
    for name, kind in data.columns.items() if len(data.samples) == 1 else ():
        if (
            data.forms[name] == "other"
            and isinstance(kind, ListOf)
            and isinstance(kind.of, Struct)
            and (name not in TURNS or _holds_conversations(kind.of))
        ):
            yield name, [row for row in data.samples[0][name] if row is not None][:MOST_TRIED]


def _holds_conversations(element: Struct) -> bool:
    """True if the elements of a list have conversations, and are no turns of one."""
    return element.fields.keys().isdisjoint(ROLE_KEYS) and any(
        isinstance(kind, ListOf) and isinstance(kind.of, Struct) for kind in element.fields.values()
    )
