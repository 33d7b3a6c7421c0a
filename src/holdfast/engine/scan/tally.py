"""Counting rows by what is wrong with them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from holdfast.core.rows.scan import FIRST_ROWS, DamagedRows, Mark

MOST_DETAILS: Final = 20
"""Most details that are counted apart for one kind of damage in one column; data may hold a new one in each row."""
OTHERS: Final = "others"


@dataclass(frozen=True, slots=True)
class DamageSign:
    """What shows one kind of damage.

    Attributes:
        mark: The damage.
        when: Boolean, one for each line of a table; null is no.
        detail: What was found there.
    """

    mark: Mark
    when: pl.Expr
    detail: str = ""


@dataclass(slots=True)
class DamageTally:
    """Counts of rows, and the first of their numbers, by damage, column and detail; and how many details there are."""

    counts: dict[tuple[Mark, str, str], int] = field(default_factory=dict[tuple[Mark, str, str], int])
    first: dict[tuple[Mark, str, str], list[int]] = field(default_factory=dict[tuple[Mark, str, str], list[int]])
    details: Counter[tuple[Mark, str]] = field(default_factory=Counter[tuple[Mark, str]])

    def add(self, mark: Mark, column: str, rows: pl.Series, detail: str = "") -> None:
        """Count the rows of one batch with these numbers; a number that comes more than once is one row."""
        rows = rows.unique(maintain_order=True)
        if rows.is_empty():
            return
        key = (mark, column, detail)
        if key not in self.counts:
            if self.details[mark, column] >= MOST_DETAILS:
                key = (mark, column, OTHERS)
            self.details[mark, column] += key not in self.counts
        self.counts[key] = self.counts.get(key, 0) + len(rows)
        listed = self.first.setdefault(key, [])
        listed += rows.head(FIRST_ROWS - len(listed)).to_list()

    def judge(self, table: pl.DataFrame, numbers: pl.Series, column: str, signs: Sequence[DamageSign]) -> None:
        """Look for signs in a table.

        Args:
            table: What the signs speak of.
            numbers: Number of the row that each of its lines belongs to.
            column: The dataset's column that it is about.
            signs: What to look for.
        """
        found = table.select(sign.when.alias(str(index)) for index, sign in enumerate(signs))
        for index, sign in enumerate(signs):
            lines = found.get_column(str(index))
            if lines.any():
                self.add(sign.mark, column, numbers.filter(lines), sign.detail)

    def marked(self) -> tuple[DamagedRows, ...]:
        """Return the damaged rows in the order of discovery."""
        return tuple(
            DamagedRows(mark, column, count, tuple(self.first[mark, column, detail]), detail)
            for (mark, column, detail), count in self.counts.items()
        )
