"""What no text should have, where all rows have it: names in braces that were not filled in, `None`, an answer that is its prompt.

In a few rows each of these may be meant, in text about code or in a task of copying; so nothing is said but of all rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from holdfast.catalog.formats.words import ANSWERS
from holdfast.core.rows.scan import DamagedRows
from holdfast.engine.scan.named import column
from holdfast.engine.scan.pairs import LONG_PROMPT
from holdfast.engine.scan.reads import Reads

ENOUGH: Final = 8
"""Rows that do not have it all by chance."""
ABSENT: Final = {"None": r"(?:^|[\s:])None\s*(?:$|\n|<)", "nan": r"(?:^|[\s:])nan\s*(?:$|\n|<)"}
"""What Python writes of a value that is not there, at the end of a line or before a tag."""
COPY: Final = "whole"
BEGUN: Final = "begun"
REPEATS: Final = frozenset({COPY, BEGUN})
"""Traits of answers that repeat their prompt: nothing but the prompt, or something after it."""


@dataclass(slots=True)
class CommonTraits:
    """What all rows so far have.

    Attributes:
        rows: How many there were.
        found: By column, what all of them have; None before the first rows.
    """

    rows: int = 0
    found: dict[str, set[str]] | None = field(default=None)

    def judge(self, frame: pl.DataFrame, reads: Reads) -> None:
        """Take in the rows of one batch."""
        self.rows += frame.height
        if self.found is None:
            braced = {f"{{{name}}}" for name in frame.columns}
            self.found = {name: {*braced, *ABSENT, *REPEATS} - {f"{{{name}}}"} for name in reads.texts}
        for name, needles in self.found.items():
            self.found[name] = _everywhere(sorted(needles), name, frame, reads)

    def marked(self) -> tuple[DamagedRows, ...]:
        """Return it, where the rows are enough."""
        if self.rows < ENOUGH or self.found is None:
            return ()
        return tuple(
            DamagedRows("repeated-prompt" if each in REPEATS else "unfilled", name, self.rows, tuple(range(3)), each)
            for name, needles in self.found.items()
            for each in sorted(needles)
        )


def _everywhere(needles: Sequence[str], name: str, frame: pl.DataFrame, reads: Reads) -> set[str]:
    """Return what all texts of a column have: names of thousands of columns are looked for in one pass."""
    signs = {needle: sign for needle in needles if (sign := _sign_of(needle, name, reads)) is not None}
    if not signs:
        return set()
    everywhere = frame.select(
        sign.fill_null(value=False).all().alias(str(at)) for at, sign in enumerate(signs.values())
    ).row(0)
    return {needle for needle, is_there in zip(signs, everywhere, strict=True) if is_there}


def _sign_of(needle: str, name: str, reads: Reads) -> pl.Expr | None:
    """Return whether each text has it; None if the column is none that may have it."""
    text = column(name)
    if needle in REPEATS:
        may = name in ANSWERS and "prompt" in reads.texts
        return _repeats(text, needle) if may else None
    if needle in ABSENT:
        return text.str.contains(ABSENT[needle])
    return text.str.contains(needle, literal=True)


def _repeats(text: pl.Expr, needle: str) -> pl.Expr:
    """True if an answer is its prompt, or begins with one so short that this may be chance in a few rows."""
    prompt = pl.col("prompt")
    if needle == COPY:
        return (text == prompt) & (text != "")
    length = prompt.str.len_chars()
    return (length > 0) & (length < LONG_PROMPT) & text.str.starts_with(prompt) & (text != prompt)
