"""Reading all rows of a dataset and judging each."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl

from holdfast.catalog.formats import forms_of, judge
from holdfast.catalog.formats.settings import ColumnSettings
from holdfast.catalog.formats.unread import unread_columns
from holdfast.catalog.formats.words import ANSWERS, CONVERSATIONS
from holdfast.core.rows.columns import Scalar
from holdfast.core.rows.scan import LackingRows, RowCount, Scan, ValueKind
from holdfast.core.rows.shape import Shape
from holdfast.core.text.json_text import parse_json
from holdfast.engine.scan.alike import CommonTraits
from holdfast.engine.scan.attachments import judge_images, judge_tools
from holdfast.engine.scan.labels import Labels
from holdfast.engine.scan.named import nameless
from holdfast.engine.scan.pairs import Preferred, judge_pairs
from holdfast.engine.scan.reads import Reads, what_is_read
from holdfast.engine.scan.sameness import Sameness, hash_rows
from holdfast.engine.scan.tally import DamageTally
from holdfast.engine.scan.turns import ENCODED, judge_turns
from holdfast.engine.scan.wording import BLANK, damaged, encoding_signs, text_signs
from holdfast.ports import Batch, Rows

KINDS: Final[Mapping[ValueKind, str]] = {
    "list": r"\A\s*\[",
    "record": r"\A\s*\{",
    "number": r"\A\s*-?\d[\d.eE+-]*\s*\z",
    "flag": r"\A\s*(?:true|false)\s*\z",
    "text": "",
}
"""How the JSON of a value of each kind begins; what is none of the others is a text."""


def scan_rows(
    rows: Rows,
    shape: Shape,
    *,
    eval_rows: Rows | None,
    method: str | None,
    settings: ColumnSettings,
) -> Scan:
    """Return the problems in the rows of a dataset that affect the columns a trainer reads.

    Args:
        rows: The rows, a `polars.DataFrame` a batch; read once.
        shape: What TRL would take them for.
        eval_rows: Those that the model is evaluated on: rows that are in both are reported, nothing else of them is.
        method: The method that they are to be used for; without one, that which reads data of this type.
        settings: What of the job's settings decides which columns are read.

    Raises:
        SourceError: None of them can be read.
    """
    reads = what_is_read(rows.columns, shape, method, settings)
    judging = RowScanner(reads)
    for batch in rows.batches():
        judging.judge(batch)
    evaluated = _hashes(eval_rows, shape, method, settings) if eval_rows is not None else None
    found = (
        *judging.tally.marked(),
        *judging.labels.marked(),
        *judging.preferred.marked(),
        *judging.alike.marked(),
        *judging.sameness.marked(evaluated),
    )
    return Scan(
        rows=judging.sameness.seen,
        columns=dict(rows.columns),
        marked=found,
        broken=tuple(rows.broken),
        lacking=LackingRows(
            nulls=_counts(judging.nulls),
            blanks=_counts(judging.blanks),
            empties=_counts(judging.empties),
            kinds=_counts_by_kind(judging.kinds),
        ),
        eval_rows=evaluated.seen if evaluated is not None else 0,
        unshown=_unshown(reads, shape, settings),
    )


def _unshown(reads: Reads, shape: Shape, settings: ColumnSettings) -> tuple[str, ...]:
    if reads.reader is None or not judge(reads.reader, reads.types, shape, settings).ready:
        return ()
    return unread_columns(reads.reader, reads.content, forms_of(reads.types), shape)


def _hashes(rows: Rows, shape: Shape, method: str | None, settings: ColumnSettings) -> Sameness:
    reads, sameness = what_is_read(rows.columns, shape, method, settings), Sameness()
    for batch in rows.batches():
        sameness.add(hash_rows(batch.frame, reads), batch.start)
    return sameness


@dataclass(slots=True)
class RowScanner:
    """Judges batch after batch, and keeps what was found."""

    reads: Reads
    tally: DamageTally = field(default_factory=DamageTally)
    nulls: DamageTally = field(default_factory=DamageTally)
    blanks: DamageTally = field(default_factory=DamageTally)
    empties: DamageTally = field(default_factory=DamageTally)
    kinds: dict[ValueKind, DamageTally] = field(default_factory=lambda: {kind: DamageTally() for kind in KINDS})
    labels: Labels = field(default_factory=Labels)
    preferred: Preferred = field(default_factory=Preferred)
    alike: CommonTraits = field(default_factory=CommonTraits)
    sameness: Sameness = field(default_factory=Sameness)

    def judge(self, batch: Batch) -> None:
        """Judge one batch."""
        frame: pl.DataFrame = batch.frame
        if frame.is_empty():
            return
        numbers = pl.int_range(batch.start, batch.start + frame.height, eager=True)
        reads = self.reads
        self._judge_words(numbers, frame)
        for name in frame.columns:
            self._count_values(numbers, nameless(frame, name), name)
        judge_pairs(numbers, frame, reads, self.tally)
        self.labels.judge(numbers, frame, reads, self.tally)
        self.preferred.judge(frame, reads)
        self.alike.judge(frame, reads)
        if reads.tools:
            judge_tools(numbers, frame, reads, self.tally)
        judge_images(numbers, frame, reads, self.tally)
        self.sameness.add(hash_rows(frame, reads), batch.start)

    def _count_values(self, numbers: pl.Series, values: pl.Series, name: str) -> None:
        """Count the rows of a column without a value, with an empty one, or with one of each kind."""
        if values.null_count():
            self.nulls.add("null", name, numbers.filter(values.is_null()))
        if self.reads.types.get(name) == Scalar("json") and values.dtype == pl.String:
            self._sort_kinds(numbers, values, name)
        elif values.dtype == pl.String:
            self.blanks.add("empty", name, numbers.filter(values.str.contains(BLANK)))
        elif values.dtype == pl.List:
            self.empties.add("empty", name, numbers.filter(values.list.len() == 0))

    def _sort_kinds(self, numbers: pl.Series, values: pl.Series, name: str) -> None:
        """Sort the rows of a column of JSON texts by the kind of their value."""
        rest = values.is_not_null()
        for kind, pattern in KINDS.items():
            found = rest & values.str.contains(pattern)
            self.kinds[kind].add("mixed-types", name, numbers.filter(found))
            rest &= ~found

    def _judge_words(self, numbers: pl.Series, frame: pl.DataFrame) -> None:
        reads, tally = self.reads, self.tally
        wrong, mixed, texts, turns = reads.wrong, reads.mixed, reads.texts, reads.turns
        for name in reads.content:
            column = nameless(frame, name)
            tally.add("null", name, numbers.filter(column.is_null()))
            if name in wrong:
                tally.add("wrong-type", name, numbers.filter(column.is_not_null()), wrong[name])
            elif name in mixed:
                _judge_mixed(numbers, column, name, reads, tally)
            elif name in texts:
                _judge_text(numbers, column, name, tally)
            elif name in turns:
                _judge_conversations(numbers, column, name, reads, tally)


def _counts(tally: DamageTally) -> dict[str, RowCount]:
    return {each.column: RowCount(each.count, each.rows) for each in tally.marked()}


def _counts_by_kind(tallies: Mapping[ValueKind, DamageTally]) -> dict[str, dict[ValueKind, RowCount]]:
    found: dict[str, dict[ValueKind, RowCount]] = {}
    for kind, tally in tallies.items():
        for name, rows in _counts(tally).items():
            found.setdefault(name, {})[kind] = rows
    return found


def _judge_text(numbers: pl.Series, texts: pl.Series, name: str, tally: DamageTally) -> None:
    table = pl.DataFrame({"row": numbers, "text": texts})
    tally.judge(table, numbers, name, text_signs("blank-completion" if name in ANSWERS else "empty"))
    suspects = damaged(table)
    tally.judge(suspects, suspects.get_column("row"), name, encoding_signs())


def _judge_conversations(numbers: pl.Series, turns: pl.Series, name: str, reads: Reads, tally: DamageTally) -> None:
    tally.add("empty", name, numbers.filter(turns.list.len() == 0))
    judge_turns(numbers, turns, name, reads, tally)


def _judge_mixed(numbers: pl.Series, values: pl.Series, name: str, reads: Reads, tally: DamageTally) -> None:
    """Judge a column whose rows differ in type: those that are not what is to stand there, and all others as usual."""
    odd = _is_odd(values, name)
    tally.add("mixed-types", name, numbers.filter(odd))
    usual = (~odd).fill_null(value=False)
    numbers, values = numbers.filter(usual), values.filter(usual)
    if name in CONVERSATIONS:
        turns = pl.Series([_turns_in(text) for text in values], dtype=pl.List(pl.String))
        encoded = replace(reads, types={**reads.types, name: ENCODED})
        _judge_conversations(numbers, turns, name, encoded, tally)
    else:
        _judge_text(numbers, values, name, tally)


def _turns_in(text: str) -> list[str] | None:
    """Return the messages of a conversation that is JSON, each as JSON; None for other texts."""
    try:
        return [json.dumps(turn, ensure_ascii=False) for turn in parse_json(text)]
    except ValueError:
        return None


def _is_odd(column: pl.Series, name: str) -> pl.Series:
    """Return which values of a column whose rows differ in type are not what is to stand there; text is as it was."""
    if name in CONVERSATIONS:
        return ~column.str.contains(r"\A\s*\[")
    return column.str.json_path_match("$").is_not_null()
