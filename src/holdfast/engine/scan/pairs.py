"""Judging chosen and rejected answers against each other, and what has a prompt against it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import polars as pl

from holdfast.catalog.formats.words import ANSWERS
from holdfast.core.rows.columns import STRING
from holdfast.core.rows.scan import SINGLE_MESSAGE, DamagedRows, Mark
from holdfast.engine.scan.reads import Reads
from holdfast.engine.scan.sameness import hash_of, hashes_of_turns
from holdfast.engine.scan.tally import DamageSign, DamageTally
from holdfast.engine.scan.turns import fields_of

PAIR: Final = ("chosen", "rejected")
CHOSEN, REJECTED = map(pl.col, PAIR)
REPEATED: Final[Mark] = "repeated-prompt"
LONG_PROMPT: Final = 16
"""Characters. An answer may begin with a shorter prompt by chance; `alike` tells where all do."""
ALIKE: Final = 8
"""Rows whose answers are not all the same by chance."""


@dataclass(slots=True)
class Preferred:
    """Whether the preferred answers differ from one another.

    Attributes:
        rows: Those with an answer.
        only: The hash of all of them, as long as it is the same; None before the first.
        differ: Whether it is not.
    """

    rows: int = 0
    only: int | None = None
    differ: bool = False

    def judge(self, frame: pl.DataFrame, reads: Reads) -> None:
        """Take in the answers of one batch; those that hold their prompt are not looked at, for they differ with it."""
        if self.differ or not (reads.pair and reads.prompted):
            return
        hashes = (
            frame.filter(pl.col("chosen").is_not_null()).select(hash_of("chosen", reads.types["chosen"])).to_series()
        )
        found = {*hashes.unique(), *([] if self.only is None else [self.only])}
        self.rows += len(hashes)
        self.differ, self.only = len(found) > 1, next(iter(found), None)

    def marked(self) -> tuple[DamagedRows, ...]:
        """Return the damage of rows that all prefer the same answer, if they are too many for that to be chance."""
        return () if self.differ or self.rows < ALIKE else (DamagedRows("one-answer", "chosen", self.rows),)


def judge_pairs(numbers: pl.Series, frame: pl.DataFrame, reads: Reads, tally: DamageTally) -> None:
    """Judge the answers of one batch; `numbers` are those of its rows."""
    if reads.pair:
        for column, sign in _pair_signs(reads):
            tally.judge(frame, numbers, column, [sign])
    if reads.prompted:
        for column in ANSWERS:
            if column in reads.content:
                tally.judge(frame, numbers, column, [*_repeats(reads, column)])


def _pair_signs(reads: Reads) -> Iterator[tuple[str, DamageSign]]:
    if set(PAIR) <= set(reads.turns):
        yield from _signs_of_turns(reads)
    elif set(PAIR) <= set(reads.texts):
        yield from _signs_of_texts(reads)
    elif set(PAIR) <= {*reads.texts, *reads.mixed}:
        # Texts of a column whose rows differ in type are as they were; a value that parses as JSON is none of them.
        texts = [pl.col(name).str.json_path_match("$").is_null() for name in PAIR if name in reads.mixed]
        yield "rejected", DamageSign("equal-pair", pl.all_horizontal(CHOSEN == REJECTED, *texts))


def _signs_of_turns(reads: Reads) -> Iterator[tuple[str, DamageSign]]:
    one, other = (hash_of(name, reads.types[name]) for name in PAIR)
    first_of_one, first_of_other = (hashes_of_turns(name, reads.types[name]).list.first() for name in PAIR)
    there = (CHOSEN.list.len() > 0) & (REJECTED.list.len() > 0)
    yield "rejected", DamageSign("equal-pair", there & (one == other))
    if not reads.prompted:
        yield "chosen", DamageSign("no-prompt-prefix", there & (first_of_one != first_of_other))
    yield from _signs_of_single_messages(reads, there & (first_of_one == first_of_other))


def _signs_of_single_messages(reads: Reads, alike: pl.Expr) -> Iterator[tuple[str, DamageSign]]:
    """Yield the sign of answers that are one message, which TRL takes for the prompt; `alike`: both begin with the same one."""
    single = alike & ((CHOSEN.list.len() == 1) | (REJECTED.list.len() == 1))
    if "prompt" in reads.texts and _says(reads, "chosen"):
        # A prompt that is text stands before messages only until it is left out.
        repeats = CHOSEN.list.first().struct.field("content") == pl.col("prompt")
        yield "chosen", DamageSign("no-prompt-prefix", single & repeats, SINGLE_MESSAGE)
    elif not reads.prompted:
        yield "chosen", DamageSign("no-prompt-prefix", single, SINGLE_MESSAGE)


def _signs_of_texts(reads: Reads) -> Iterator[tuple[str, DamageSign]]:
    yield "rejected", DamageSign("equal-pair", CHOSEN == REJECTED)
    if not reads.prompted:
        # TRL takes what both begin with for the prompt, character by character.
        apart = (CHOSEN != "") & (REJECTED != "") & (CHOSEN.str.head(1) != REJECTED.str.head(1))
        yield "chosen", DamageSign("no-prompt-prefix", apart)


def _says(reads: Reads, column: str) -> bool:
    """True if a column holds messages whose content is text."""
    return fields_of(reads.types[column]).get("content") == STRING


def _repeats(reads: Reads, column: str) -> Iterator[DamageSign]:
    """Yield the sign of an answer that begins with its prompt, which TRL puts before it once more."""
    if {"prompt", column} <= set(reads.turns):
        prompt, answer = (hashes_of_turns(name, reads.types[name]) for name in ("prompt", column))
        yield DamageSign(REPEATED, (pl.col("prompt").list.len() > 0) & (answer.list.first() == prompt.list.first()))
    if {"prompt", column} <= set(reads.texts):
        prompt = pl.col("prompt")
        long = prompt.str.len_chars() >= LONG_PROMPT
        yield DamageSign(REPEATED, long & pl.col(column).str.starts_with(prompt) & (pl.col(column) != prompt))
