"""What reading every row of a dataset showed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from holdfast.core.columns import Type

FIRST_ROWS: Final = 20
"""So many of the rows that something is wrong with are told by number."""

Mark = Literal[
    "null", "empty", "wrong-type", "json-text", "unknown-role", "role-order", "no-assistant", "no-user", "empty-turn",
    "equal-pair", "duplicate", "leaked", "one-class", "encoding", "no-prompt-prefix", "uneven-steps", "malformed-tools",
    "missing-image", "blank-completion",
]  # fmt: skip
"""Kinds of damage that rows can have, each told by a rule of its own."""


@dataclass(frozen=True, slots=True)
class Marked:
    """Rows with one kind of damage in one column.

    Attributes:
        mark: What is wrong with them.
        column: Where; empty where it is the row as a whole.
        count: How many there are.
        rows: Numbers of the first of them, counted from 0, as `dataset[3]` does.
        detail: What was found there, such as the unknown role; empty where the mark says all.
    """

    mark: Mark
    column: str
    count: int
    rows: tuple[int, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Broken:
    """A place where a file cannot be read on.

    Attributes:
        path: The file.
        what: What is wrong there.
        line: Counted from 1; None where the format has no lines.
        row: Number of the row that it would be, where that is known.
    """

    path: str
    what: str
    line: int | None = None
    row: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What was found in a dataset's rows.

    Attributes:
        rows: How many were read.
        whole: Whether that is all of them.
        columns: Types as they turned out.
        marked: What is wrong with them.
        broken: Where files cannot be read.
        eval_rows: Rows of the evaluation split that were compared with them; 0 where there is none.
    """

    rows: int
    whole: bool = True
    columns: Mapping[str, Type] = field(default_factory=dict[str, Type])
    marked: tuple[Marked, ...] = ()
    broken: tuple[Broken, ...] = ()
    eval_rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """How long rows are, in tokens.

    Attributes:
        p50: Half of them are at most as long.
        p95: 95 in 100 of them.
        max: The longest.
        mean: On average.
        histogram: Number of rows by upper bound, in tokens, in rising order; the bounds are doubled from 16 on.
    """

    p50: int
    p95: int
    max: int
    mean: float
    histogram: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What the tokenizer and the chat template make of the rows, as the method's trainer asks them.

    Attributes:
        rows: How many were tokenized.
        lengths: How long they are, before they are cut.
        max_length: Where the trainer cuts them; None where it does not.
        truncated: How many are longer.
        masked: How many have no label left to learn from, and the numbers of the first.
        without_end: How many end without the token that ends a turn among their labels.
        doubled_start: How many begin with two tokens that begin a text.
        beyond: How many have ids that the model's embedding does not have.
        marks_assistant: Whether the chat template tells which tokens are the assistant's; None where nobody asks.
        packed: Share of the tokens of a packed batch that are rows and not padding; None where nothing is packed.
        steps: Optimizer steps of the whole training; None where nothing says how many there will be.
        problem: Why the template or the tokenizer raises on some row; empty where none does.
    """

    rows: int
    lengths: Lengths
    max_length: int | None = None
    truncated: int = 0
    masked: "Counted" = field(default_factory=lambda: Counted(0))
    without_end: "Counted" = field(default_factory=lambda: Counted(0))
    doubled_start: "Counted" = field(default_factory=lambda: Counted(0))
    beyond: "Counted" = field(default_factory=lambda: Counted(0))
    marks_assistant: bool | None = None
    packed: float | None = None
    steps: int | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Counted:
    """How many rows are so, and the numbers of the first of them, counted from 0."""

    count: int
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewarded:
    """What a reward function gave for sample rows.

    Attributes:
        name: As it was asked for: `rewards.py:correct`.
        rewards: One for each completion that it was given; None where it gave none.
        problem: Why it cannot be used: it raised, took too long, gave too few, or no numbers. Empty where it can.
    """

    name: str
    rewards: tuple[float | None, ...] = ()
    problem: str = ""
