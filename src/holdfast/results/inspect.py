"""The result of `inspect`."""

from collections.abc import Mapping, Sequence
from typing import Literal

from holdfast.core.finding import Severity
from holdfast.core.methods import Method
from holdfast.core.scan import MaskedRow, RewardResult
from holdfast.core.shape import DatasetType, Format
from holdfast.results import Result, ResultPart
from holdfast.results.check import ReportedSkip, Verdict


class InspectedDataset(ResultPart, frozen=True, kw_only=True):
    """The split that was inspected.

    Attributes:
        path: The dataset, as it was named.
        split: The split.
        rows: How many rows were read.
        columns: The columns' types, by name.
    """

    path: str
    split: str
    rows: int
    columns: Mapping[str, str]


class DroppedRows(ResultPart, frozen=True, kw_only=True):
    """The rows that a mapping leaves out, since a column is null in them.

    Attributes:
        count: How many rows there are.
        rows: The numbers of the first of them, counted from 0.
    """

    count: int
    rows: Sequence[int]


class MethodReadiness(ResultPart, frozen=True, kw_only=True):
    """Whether a method can train on the dataset as it is.

    Attributes:
        ready: Whether it can.
        because: Why not; absent where it can.
        caveat: What it would leave out or get wrong without a word; absent where nothing is known.
        mapping: A Python module with a function `rewrite(row)` that makes the rows ready; null where none is needed or known.
        removes: The columns that the mapping removes.
        drops: The rows that the module's `keep(row)` leaves out, by the column that is null in them; absent where it has no `keep`.
        field: The list that holds the rows, where a JSON file is one object: `load_dataset("json", field=...)`; absent elsewhere.
        unmapped: Why there is no mapping where one is needed; absent where there is one.
    """

    ready: bool
    because: str = ""
    caveat: str = ""
    mapping: str | None
    removes: Sequence[str]
    drops: Mapping[str, DroppedRows] = {}
    field: str = ""
    unmapped: str = ""


class RowProblem(ResultPart, frozen=True, kw_only=True):
    """What a rule finds in the rows.

    Attributes:
        code: The rule's code.
        name: The rule's name.
        severity: How bad it is.
        message: What is wrong.
        rows: The numbers of the first such rows, counted from 0.
        count: How many rows there are; null where it is about the dataset as a whole.
    """

    code: str
    name: str
    severity: Severity
    message: str
    rows: Sequence[int]
    count: int | None


class TokenReport(ResultPart, frozen=True, kw_only=True):
    """What the tokenizer and the chat template make of the rows. All lengths are in tokens.

    Attributes:
        p50: Half of the rows are at most as long, before they are cut.
        p95: 95 in 100 of them.
        max: The longest row.
        mean: The mean length.
        histogram: Pairs of an upper bound and the number of rows, in rising order.
        p99: 99 in 100 rows are at most as long; null where it was not counted.
        rows: How many rows were tokenized.
        max_length: What the trainer takes of a row at most; null where it takes all.
        truncated: How many rows are longer, and are cut there.
        marks_assistant: Whether the chat template tells which tokens are the assistant's; null where it does not matter.
        packed: The share of a packed batch's tokens that are no padding; null where nothing is packed.
        steps: Optimizer steps of the whole training; null where that is not known.
        problem: What the template or the tokenizer raises; empty where it does not.
        of: How many rows the dataset has; null where that is not known.
        stops: The tokens that end what a model writes.
        turn_end: The special token that rows have last among their labels; empty where they have none.
        highest: The highest token id.
        embedding: How many ids the model's embedding has; null where that is not known.
        units: What an epoch goes over: rows, pairs of them, or packs.
        omitted_roles: Roles of the messages that the chat template leaves out, the most frequent first.
        positions: How many positions the model has; null where that is not known.
        positions_raise: Whether a longer text raises; else the model gives poor text there.
        masked: How many rows have no label left to learn from.
        dropped: How many rows the trainer leaves out.
        without_end: How many rows that are not cut have no end token among their labels.
        doubled_start: How many rows begin with two tokens that begin a text.
        beyond: How many rows have ids that the model's embedding does not have.
        unmarked: How many rows have no token that the template marks as the assistant's.
        failed: How many rows the template or the tokenizer raises on.
        diverged: How many rows begin otherwise than their prompt alone does.
        omitted: How many rows have messages that the chat template leaves out.
        omitted_last: How many of them lose their last message so.
        spelled: How many rows have a list or a record for a message, which the template writes as Python spells it.
        beyond_positions: How many rows have more tokens than the model has positions.
        truncated_fraction: `truncated` as a share of `rows`.
    """

    p50: int
    p95: int
    max: int
    mean: float
    histogram: Sequence[tuple[int, int]]
    p99: int | None
    rows: int
    max_length: int | None
    truncated: int
    marks_assistant: bool | None
    packed: float | None
    steps: int | None
    problem: str
    of: int | None
    stops: Sequence[str]
    turn_end: str
    highest: int
    embedding: int | None
    units: int | None
    omitted_roles: Sequence[str]
    positions: int | None
    positions_raise: bool
    masked: int
    dropped: int
    without_end: int
    doubled_start: int
    beyond: int
    unmarked: int
    failed: int
    diverged: int
    omitted: int
    omitted_last: int
    spelled: int
    beyond_positions: int
    truncated_fraction: float


class InspectResult(Result, frozen=True, kw_only=True):
    """What was found out about a dataset.

    Attributes:
        verdict: `fail` where a problem is an error, or the method that was asked about is not ready.
        dataset: The split that was inspected.
        format: Texts, or lists of messages.
        types: What TRL's trainers would take it for; more than one where they differ.
        method: The method that was asked about.
        methods: Whether each method can train on it.
        problems: What the rules find in the rows.
        skipped: The rules that were not checked.
        tokens: What a model's tokenizer makes of the rows; null where no model is named.
        untold: Why there are no tokens though a model is named.
        mapped: The method whose mapping went over the rows before they were tokenized.
        samples: Sample rows as the model is shown them.
        rewards: What reward functions gave for sample rows.
        rewritten_by: The job's own `map`: it rewrites the rows before the trainer reads them, and `inspect` does not run it. The
            methods are judged by the rows as they are, and that none is ready is no failure. Absent where there is none.
    """

    verb: Literal["inspect"]
    verdict: Verdict
    dataset: InspectedDataset
    format: Format
    types: Sequence[DatasetType]
    method: Method | None
    methods: Mapping[str, MethodReadiness]
    problems: Sequence[RowProblem]
    skipped: Sequence[ReportedSkip]
    tokens: TokenReport | None
    untold: str
    mapped: Method | None
    samples: Sequence[MaskedRow]
    rewards: Sequence[RewardResult]
    rewritten_by: str = ""

    @property
    def exit_code(self) -> int:
        """1 where the verdict is `fail`."""
        return int(self.verdict == "fail")
