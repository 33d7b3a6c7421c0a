"""The result of `inspect`."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from holdfast.core.check.finding import Severity
from holdfast.core.job.methods import Method
from holdfast.core.rows.scan import MaskedRow, RewardResult
from holdfast.core.rows.shape import DatasetType, RowFormat
from holdfast.results import Result, ResultPart
from holdfast.results.check import ReportedSkip, TargetVerdict


class LackingValues(ResultPart, frozen=True, kw_only=True):
    """The rows in which a column has no usable value, whether a trainer reads it or not.

    Attributes:
        kind: What is there: null, white space alone, or an empty list.
        count: How many rows there are.
        rows: The numbers of the first of them, counted from 0.
    """

    kind: Literal["null", "blank", "empty"]
    count: int
    rows: Sequence[int]


class InspectedDataset(ResultPart, frozen=True, kw_only=True):
    """The split that was inspected.

    Attributes:
        path: The dataset, as it was named.
        split: The split.
        rows: How many rows were read.
        columns: The columns' types, by name.
        lacking: The rows without a usable value, by column; columns that have one in each row are left out.
    """

    path: str
    split: str
    rows: int
    columns: Mapping[str, str]
    lacking: Mapping[str, Sequence[LackingValues]]


class DroppedRows(ResultPart, frozen=True, kw_only=True):
    """The rows that a mapping leaves out, because a column has no usable value in them.

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
        because: Why not; absent if it can.
        caveat: What it would drop or misread without an error; absent if none is known.
        mapping: A Python module with a function `rewrite(row)` that makes the rows ready; null if none is needed or known.
        removes: The columns that the mapping removes.
        casts: The text columns that the mapping turns into numbers or truth values; absent if there are none. Cast each to
            `Value("string")` first: `map` keeps the type of a `large_string` column, and writes `True` into it as text.
        drops: The rows that the module's `keep(row)` drops, by the column that has no usable value in them; absent if it has no `keep`.
        field: The list that holds the rows, if a JSON file is one object: `load_dataset("json", field=...)`; else absent.
        unmapped: Why there is no mapping though one is needed; absent if there is one.
    """

    ready: bool
    because: str = ""
    caveat: str = ""
    mapping: str | None
    removes: Sequence[str]
    casts: Sequence[str] = ()
    drops: Mapping[str, DroppedRows] = {}
    field: str = ""
    unmapped: str = ""


class RowProblem(ResultPart, frozen=True, kw_only=True):
    """A problem that a rule finds in the rows.

    Attributes:
        code: The rule's code.
        name: The rule's name.
        severity: The severity.
        message: What is wrong.
        rows: The numbers of the first such rows, counted from 0.
        count: How many rows have it; null if it concerns the whole dataset.
    """

    code: str
    name: str
    severity: Severity
    message: str
    rows: Sequence[int]
    count: int | None


class TokenReport(ResultPart, frozen=True, kw_only=True):
    """The rows after the chat template and the tokenizer. All lengths are in tokens.

    Attributes:
        p50: The median length, before rows are cut.
        p95: The 95th percentile of the lengths.
        max: The length of the longest row.
        mean: The mean length.
        histogram: Pairs of an upper bound and a number of rows, in ascending order.
        p99: The 99th percentile of the lengths; null if it was not computed.
        rows: How many rows were tokenized.
        max_length: The length at which the trainer cuts rows; null if it does not cut.
        truncated: How many rows are longer, and are cut.
        marks_assistant: Whether the chat template marks the tokens of the assistant; null if it does not matter.
        packed: The share of a packed batch's tokens that are not padding; null if nothing is packed.
        steps: Optimizer steps of the whole training; null if unknown.
        problem: The error that the template or the tokenizer raises; empty if there is none.
        of: How many rows the dataset has; null if unknown.
        stops: The tokens that end generation.
        turn_end: The special token that is the last label of rows; empty if there is none.
        highest: The highest token id.
        embedding: The number of ids in the model's embedding; null if unknown.
        units: How many rows, pairs of rows or packs an epoch has; null if unknown.
        omitted_roles: Roles of the messages that the chat template leaves out, the most frequent first.
        positions: How many positions the model has; null if unknown.
        positions_raise: Whether a longer text raises an error. Otherwise the model generates poor text there.
        masked: How many rows have only masked labels.
        dropped: How many rows the trainer leaves out.
        without_end: How many of the rows that are not cut have no end token among their labels.
        doubled_start: How many rows begin with two beginning-of-text tokens.
        beyond: How many rows have ids outside the model's embedding.
        unmarked: How many rows have no token that the template marks as the assistant's.
        failed: For how many rows the template or the tokenizer raises an error.
        diverged: How many rows do not begin with the tokens of their prompt alone.
        omitted: How many rows have messages that the chat template leaves out.
        omitted_last: How many of these rows lose their last message.
        spelled: How many rows have a list or a record as a message, which the template writes as a Python literal.
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


class ImageReport(ResultPart, frozen=True, kw_only=True):
    """The images of the rows, as Pillow reads them.

    Attributes:
        images: How many were read.
        formats: How many there are of each format, such as `PNG`.
        widths: The least and the greatest width, in pixels.
        heights: The least and the greatest height, in pixels.
        tokens: The least and the greatest number of tokens that the images of a row become, by the model's processor; null if
            unknown.
        untold: Why no image was read, or why the tokens are not known although a model is named; else empty.
    """

    images: int
    formats: Mapping[str, int]
    widths: tuple[int, int]
    heights: tuple[int, int]
    tokens: tuple[int, int] | None
    untold: str


class PreparedRows(ResultPart, frozen=True, kw_only=True):
    """How rows that holdfast prepared came to be, as `rows.json` beside them says.

    Attributes:
        sources: The datasets: `dataset`, `split`, and the `sha256` of a file or the `revision` of a repository.
        rewritten_by: The job's `map`: `function`, and the `sha256` of its file; null if there was none.
        chosen: How rows were chosen: `strategy`, `seed`, counts, and the `sha256` of the rows.
        rows: How many rows each split has.
        changed: The files that have changed since they were written.
        saved: With `--save`, `written`, or `kept` if nothing that they depend on had changed; absent without it.
    """

    sources: Sequence[Mapping[str, Any]]
    rewritten_by: Mapping[str, str] | None
    chosen: Mapping[str, Any]
    rows: Mapping[str, int]
    changed: Sequence[str]
    saved: Literal["written", "kept"] | None = None


class InspectResult(Result, frozen=True, kw_only=True):
    """The format of a dataset, its problems, and the methods that it fits.

    Attributes:
        verdict: `fail` if a problem is an error, or the dataset is not ready for the requested method.
        dataset: The split that was inspected.
        format: Texts, or lists of messages.
        types: The formats that TRL's trainers recognize; more than one if the trainers differ.
        method: The requested method.
        methods: Whether each method can train on it.
        problems: The problems that rules find in the rows.
        skipped: The rules that were not checked.
        tokens: The rows after the model's tokenizer; null if no model is named.
        untold: Why there are no tokens, although a model is named.
        mapped: The method whose mapping was applied to the rows before tokenization.
        samples: Sample rows as the model gets them.
        rewards: The results of reward functions on sample rows.
        rewritten_by: The job's own `map`, which rewrites the rows before the trainer reads them. `inspect` does not run it, and
            judges the methods by the rows as they are; a method that is not ready is then no failure. Absent if there is no `map`.
        images: The images of the rows; null if no column holds images.
        prepared: How the rows came to be, if holdfast prepared them; else null.
    """

    verb: Literal["inspect"]
    verdict: TargetVerdict
    dataset: InspectedDataset
    format: RowFormat
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
    images: ImageReport | None = None
    prepared: PreparedRows | None = None

    @property
    def exit_code(self) -> int:
        """1 where the verdict is `fail`."""
        return int(self.verdict == "fail")
