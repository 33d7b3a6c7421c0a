"""What reading every row of a dataset showed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from holdfast.core.rows.columns import Type

FIRST_ROWS: Final = 20
"""Most damaged rows that are listed by number."""
SOME_ROWS: Final = 3
"""So many of them in a sentence."""
LEAST_PERCENT: Final = 0.001
MOST_PERCENT: Final = 99.9
"""The least and greatest share that is shown, unless it is nothing or all."""
TWO_DIGITS: Final = 99
"""From here on a percent rounded to two digits may be 1e+02."""

Mark = Literal[
    "null", "empty", "wrong-type", "json-text", "unknown-role", "role-order", "no-assistant", "no-user", "empty-turn",
    "equal-pair", "duplicate", "leaked", "one-class", "encoding", "no-prompt-prefix", "uneven-steps", "malformed-tools",
    "missing-image", "blank-completion", "last-turn", "repeated-prompt", "uneven-classes", "mixed-types",
    "malformed-calls", "one-answer", "unfilled", "unreadable-image", "images-beyond-max-length",
]  # fmt: skip
"""Kinds of damage that rows can have; each has a rule of its own."""
ValueKind = Literal["text", "number", "flag", "list", "record"]
"""Kinds of values that JSON has, beside null."""
SINGLE_MESSAGE: Final = "a single message"
"""The detail of `no-prompt-prefix` where both answers begin alike, and one of them ends there."""


@dataclass(frozen=True, slots=True)
class DamagedRows:
    """Rows with one kind of damage in one column.

    Attributes:
        mark: What is wrong with them.
        column: Where; empty if it is the row as a whole.
        count: How many there are.
        rows: Numbers of the first of them, counted from 0, as `dataset[3]` does.
        detail: What was found there, such as the unknown role; empty if the mark says all.
    """

    mark: Mark
    column: str
    count: int
    rows: tuple[int, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class UnreadablePart:
    """A place where a file cannot be read on.

    Attributes:
        path: The file.
        what: What is wrong there.
        line: Counted from 1; None if the format has no lines.
        row: Number of the row that it would be, where that is known.
    """

    path: str
    what: str
    line: int | None = None
    row: int | None = None


@dataclass(frozen=True, slots=True)
class RowCount:
    """How many rows are so, and the numbers of the first of them, counted from 0."""

    count: int
    rows: tuple[int, ...] = ()

    def among(self, rows: int) -> str:
        """Return it in words, as a share of so many rows.

        >>> RowCount(25, (3, 5, 8, 9)).among(1000), RowCount(8).among(8)
        ('25 of 1000 rows (2.5 %; the first are 3, 5, 8)', 'all 8 rows')
        """
        if self.count == rows:
            return f"all {rows} rows" if rows > 1 else "the only row"
        first = self.rows[:SOME_ROWS]
        listed = f"; the first {'are' if len(first) > 1 else 'is'} {', '.join(map(str, first))}" if first else ""
        return f"{self.count} of {rows} rows ({render_share(self.count, rows)}{listed})"


@dataclass(frozen=True, slots=True)
class LackingRows:
    """Rows that lack a usable value, by column; columns of which none does are left out.

    Attributes:
        nulls: Those that are null.
        blanks: Those that are a text of white space alone.
        empties: Those that are an empty list.
        strange: Those with messages of an unknown speaker, or whose content is null or no text.
        kinds: Of columns whose rows differ in type, those of each kind.
    """

    nulls: Mapping[str, RowCount] = field(default_factory=dict[str, RowCount])
    blanks: Mapping[str, RowCount] = field(default_factory=dict[str, RowCount])
    empties: Mapping[str, RowCount] = field(default_factory=dict[str, RowCount])
    strange: Mapping[str, RowCount] = field(default_factory=dict[str, RowCount])
    kinds: Mapping[str, Mapping[ValueKind, RowCount]] = field(default_factory=dict[str, Mapping[ValueKind, RowCount]])

    def others(self, column: str, usual: frozenset[ValueKind]) -> tuple[RowCount, ...]:
        """Return the rows of a column whose value is of another kind than those, by kind."""
        return tuple(rows for each, rows in self.kinds.get(column, {}).items() if each not in usual)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What was found in a dataset's rows.

    Attributes:
        rows: How many were read.
        columns: Types as they turned out.
        marked: What is wrong with them.
        broken: Where files cannot be read.
        lacking: Rows that lack a value, whether a trainer reads its column or not.
        eval_rows: Rows of the evaluation split that were compared with them; 0 if there is none.
        unread_images: Why the images of the rows were not read; empty if they were, or there are none.
        unshown: Columns of words that belong to a prompt, and that the method does not show the model.
    """

    rows: int
    columns: Mapping[str, Type] = field(default_factory=dict[str, Type])
    marked: tuple[DamagedRows, ...] = ()
    broken: tuple[UnreadablePart, ...] = ()
    lacking: LackingRows = field(default_factory=LackingRows)
    eval_rows: int = 0
    unread_images: str = ""
    unshown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """How long rows are, in tokens.

    Attributes:
        p50: Half of them are at most as long.
        p95: 95 in 100 of them.
        p99: 99 in 100 of them; None if they were not counted.
        max: The longest.
        mean: On average.
        histogram: Number of rows by upper bound, in tokens, in rising order; the bounds are doubled from 16 on.
    """

    p50: int
    p95: int
    max: int
    mean: float
    histogram: tuple[tuple[int, int], ...] = ()
    p99: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What the tokenizer and the chat template make of the rows, as the method's trainer asks them.

    Attributes:
        rows: How many were tokenized.
        of: How many the dataset has; None if they were not counted. More than `rows` where those are a sample.
        lengths: How long they are, before they are cut.
        max_length: What the trainer takes of each at most; None if it takes all.
        truncated: How many are longer, and are cut there.
        masked: How many have no label left to learn from, and the numbers of the first.
        dropped: How many the trainer leaves out: those that a cut would leave without labels, or that are too long.
        without_end: How many that are not cut have no token among their labels that ends what a model writes.
        stops: Those tokens, as the tokenizer spells them.
        turn_end: The special token that rows have last among their labels; empty if they have none.
        doubled_start: How many begin with two tokens that begin a text.
        beyond: How many have ids that the model's embedding does not have.
        highest: The highest id.
        embedding: How many ids the embedding has; None if it is not known.
        marks_assistant: Whether the chat template tells which tokens are the assistant's; None if that was not determined.
        unmarked: How many have no token that the template marks so, where it marks any.
        units: What an epoch goes over: rows that are left, pairs of them, or packs.
        packed: Share of the tokens of a packed batch that are rows and not padding; None if nothing is packed.
        steps: Optimizer steps of the whole training; None if nothing says how many there will be.
        diverged: How many begin otherwise than their prompt alone does, so that its end is not learned with.
        omitted: How many have messages that the chat template leaves out, whatever they say.
        omitted_last: How many of them lose their last message so.
        omitted_roles: Roles of those messages, the most frequent first.
        spelled: How many have a list or a record for a message, which the chat template writes in Python's notation.
        positions: How many positions the model has; None if it is not known.
        positions_raise: Whether a text beyond them raises; else the model gives poor text there.
        beyond_positions: How many have more tokens, of those that the trainer keeps.
        failed: How many the template or the tokenizer raises on.
        problems: What it raises, by the numbers of the first of these rows.
    """

    rows: int
    lengths: Lengths
    max_length: int | None = None
    truncated: int = 0
    masked: RowCount = field(default_factory=lambda: RowCount(0))
    without_end: RowCount = field(default_factory=lambda: RowCount(0))
    doubled_start: RowCount = field(default_factory=lambda: RowCount(0))
    beyond: RowCount = field(default_factory=lambda: RowCount(0))
    marks_assistant: bool | None = None
    packed: float | None = None
    steps: int | None = None
    problems: Mapping[int, str] = field(default_factory=dict[int, str])
    of: int | None = None
    dropped: RowCount = field(default_factory=lambda: RowCount(0))
    stops: tuple[str, ...] = ()
    turn_end: str = ""
    highest: int = 0
    embedding: int | None = None
    unmarked: RowCount = field(default_factory=lambda: RowCount(0))
    units: int | None = None
    diverged: RowCount = field(default_factory=lambda: RowCount(0))
    omitted: RowCount = field(default_factory=lambda: RowCount(0))
    omitted_last: RowCount = field(default_factory=lambda: RowCount(0))
    omitted_roles: tuple[str, ...] = ()
    spelled: RowCount = field(default_factory=lambda: RowCount(0))
    positions: int | None = None
    positions_raise: bool = False
    beyond_positions: RowCount = field(default_factory=lambda: RowCount(0))
    failed: RowCount = field(default_factory=lambda: RowCount(0))

    @property
    def problem(self) -> str:
        """The first of the problems, with its row; empty if there is none."""
        return next((f"row {row}: {why}" for row, why in self.problems.items()), "")


def render_share(count: int, of: int) -> str:
    """Return a part of a whole in percent: `100 %` is all of it, and nothing less.

    >>> render_share(64, 64), render_share(99_999, 100_000), render_share(25, 1000), render_share(1, 10**7)
    ('100 %', '99.9 %', '2.5 %', 'less than 0.001 %')
    """
    percent = 100 * count / of
    if count == of:
        return "100 %"
    if 0 < percent < LEAST_PERCENT:
        return f"less than {LEAST_PERCENT} %"
    digits = 3 if percent > TWO_DIGITS else 2
    return f"{min(percent, MOST_PERCENT):.{digits}g} %"


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardResult:
    """The result of a reward function on sample rows.

    Attributes:
        name: Its name, as requested: `rewards.py:correct`.
        rewards: One for each completion; None if the function returned none.
        problem: Why it cannot be used: it raised an error, took too long, or returned too few values or no numbers. Else empty.
        skipped: Why it was not called.
        answered: Whether there were right answers among the completions.
    """

    name: str
    rewards: tuple[float | None, ...] = ()
    problem: str = ""
    skipped: str = ""
    answered: bool = False


@dataclass(frozen=True, slots=True)
class TokenPiece:
    """A token, or several tokens that only together form one character.

    Attributes:
        text: Its text.
        learned: Whether it is trained on.
        kept: Whether it is before the cut.
    """

    text: str
    learned: bool
    kept: bool = True


@dataclass(frozen=True, slots=True)
class MaskedRow:
    """A row as the model gets it.

    Attributes:
        row: Its number, counted from 0.
        part: The column that it ends with, if a row has more than one text: `chosen`.
        pieces: Its tokens in order.
    """

    row: int
    part: str
    pieces: tuple[TokenPiece, ...]
