"""Finding the same row twice in a dataset, and in what it is evaluated on, by hashes of what a trainer reads.

A row is 8 bytes here, whatever it holds; while hashes are compared at the end, three times that. Two different rows have
the same hash of 64 bits with a chance of 2**-64: among n rows, some pair of different ones is taken for the same with a
chance of about n * n / 2**65, which is 1 in 37 million for a million rows, and 1 in 3,700 for a hundred million. Nothing is
refused because of it: what is said of the same rows is a hint.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from holdfast.core.rows.columns import Type
from holdfast.core.rows.scan import FIRST_ROWS, DamagedRows
from holdfast.engine.scan.named import column
from holdfast.engine.scan.reads import Reads
from holdfast.engine.scan.turns import ENCODED, fields_of

# What chat templates write of a message. Splits may differ in the fields that their messages have: a lacking one is null.
WRITTEN: Final = (("role", "from"), ("content", "value"), ("tool_calls",), ("reasoning_content",), ("thinking",))
NOTHING: Final = pl.lit(0, dtype=pl.UInt64)


def hash_of(name: str, kind: Type) -> pl.Expr:
    """Return a hash of a column's values; of messages by what is written of them, whatever other fields they have."""
    return hashes_of_turns(name, kind).hash() if fields_of(kind) or kind == ENCODED else column(name).hash()


def hashes_of_turns(name: str, kind: Type) -> pl.Expr:
    """Return lists with a hash for each message of a conversation."""
    has = fields_of(kind)
    if not has and kind != ENCODED:
        return column(name).list.eval(pl.element().hash())
    parts: list[pl.Expr] = []
    for index, spellings in enumerate(WRITTEN):
        found = [_encoded(spellings)] if kind == ENCODED else _fields(spellings, has)
        hashes = [pl.when(part.is_null()).then(NOTHING).otherwise(part.hash()) for part in found]
        parts.append((hashes or [NOTHING])[0].alias(str(index)))
    return column(name).list.eval(pl.struct(parts).hash())


def _encoded(spellings: Sequence[str]) -> pl.Expr:
    """Return a field of messages that are JSON, so that one hashes as the same message does in a column of structs."""
    return pl.coalesce(pl.element().str.json_path_match(f"$.{spelling}") for spelling in spellings)


def _fields(spellings: Sequence[str], has: Mapping[str, Type]) -> list[pl.Expr]:
    """Return the field of messages that has one of the spellings; none if none has."""
    return [pl.element().struct.field(spelling) for spelling in spellings if spelling in has][:1]


def hash_rows(frame: pl.DataFrame, reads: Reads) -> pl.Series:
    """Return a hash of each row, of the columns that the trainer reads; of all where it is not known which it does.

    Rows that lack something have none: that they are alike is not what is wrong with them.
    """
    names = [name for name in reads.all if name in frame.columns] or frame.columns
    hashes = [hash_of(name, reads.types[name]).alias(str(index)) for index, name in enumerate(names)]
    lacking = (
        pl.any_horizontal(column(name).is_null() for name in reads.content) if reads.content else pl.lit(value=False)
    )
    return frame.select(pl.when(~lacking).then(pl.struct(hashes).hash())).to_series()


@dataclass(slots=True)
class Sameness:
    """Hashes of all rows so far.

    Attributes:
        hashes: Of each batch.
        starts: For each batch, how many rows came before it, and the number of its first.
    """

    hashes: list[pl.Series] = field(default_factory=list[pl.Series])
    starts: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    seen: int = 0

    def add(self, hashes: pl.Series, start: int) -> None:
        """Take in the rows of a batch whose first has the number `start`."""
        self.starts.append((self.seen, start))
        self.hashes.append(hashes)
        self.seen += len(hashes)

    def together(self) -> pl.Series:
        """Return all hashes in order."""
        return pl.concat(self.hashes) if self.hashes else pl.Series(dtype=pl.UInt64)

    def marked(self, evaluated: "Sameness | None" = None) -> Iterator[DamagedRows]:
        """Yield the rows that are there before, and those that the evaluation split has too."""
        every = self.together()
        again = repeated(every)
        if count := len(again):
            copies = every.is_in(again.unique().implode())
            later = every.to_frame("hash").with_row_index("at").filter(copies)  # null, where there is no hash, is no
            repeats = later.filter(~pl.col("hash").is_first_distinct()).get_column("at")
            yield DamagedRows("duplicate", "", count, self._numbers(repeats))
        if evaluated is not None:
            leaked = every.is_in(evaluated.together().drop_nulls().unique().implode())
            if count := int(leaked.sum()):
                yield DamagedRows("leaked", "", count, self._numbers(leaked.arg_true()))

    def _numbers(self, positions: pl.Series) -> tuple[int, ...]:
        """Return the rows' numbers, which are not their positions where rows could not be read."""
        rows: list[int] = []
        for position in positions.head(FIRST_ROWS).to_list():
            before, start = self.starts[bisect_right(self.starts, position, key=lambda each: each[0]) - 1]
            rows.append(start + position - before)
        return tuple(rows)


def repeated(hashes: pl.Series) -> pl.Series:
    """Return the hashes that come once more than once, as often as they do so, in rising order.

    >>> repeated(pl.Series([5, 3, 5, 7, 5, 3])).to_list()
    [3, 5, 5]
    """
    ordered = hashes.drop_nulls().sort()
    return ordered.filter(ordered == ordered.shift(1))
