"""How much of a data file is in memory at once, whatever its rows are."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import polars as pl

from holdfast.adapters.rows.frames import NAMELESS
from holdfast.adapters.rows.pieces import Columns
from holdfast.core.errors import SourceError, Spot
from holdfast.core.rows.columns import scalars_of

MOST_COLUMNS: Final = 10_000
"""Columns, with the keys of objects in them; of each, every row holds a value or null."""
MOST_CELLS: Final = 2_000_000
"""Values that are in memory at once."""
PART_BYTES: Final = 64 << 20
MOST_ROWS: Final = 100_000


def refuse_wide(count: int, path: Path) -> None:
    """Check that a table has no more columns and keys than are read.

    Raises:
        SourceError: It has more.
    """
    if count > MOST_COLUMNS:
        what = (
            f"{path} has more than {MOST_COLUMNS:,} columns and keys, of which `load_dataset` gives each to every row"
        )
        raise SourceError(
            f"{what}: it is not read here",
            where=Spot(str(path)),
            fix="give the rows the same keys; or name another file",
        )


def width_of(columns: Columns) -> int:
    """Return how many values a row holds, lists counted as one."""
    return sum(sum(1 for _ in scalars_of(kind)) or 1 for kind in columns.values())


def slices_of(frame: Any) -> Iterator[Any]:
    """Yield a frame in slices that take no more memory than is allowed, also where each value is written out."""
    count = max(-(-_written_bytes(frame) // PART_BYTES), -(-frame.height // MOST_ROWS), 1)
    if count == 1 or frame.height <= 1:
        yield frame
        return
    step = -(-frame.height // min(count, frame.height))
    for start in range(0, frame.height, step):
        part = frame.slice(start, step)
        yield from slices_of(part) if _written_bytes(part) > 2 * PART_BYTES else [part]


def _written_bytes(frame: Any) -> int:
    """Return the bytes that a frame takes, at least, with the text of a category in place of its number."""
    categories = (leaf for series in frame.iter_columns() for leaf in _categories(series.alias(NAMELESS)))
    return int(frame.estimated_size()) + sum(len(leaf) * _longest(leaf) for leaf in categories)


def _categories(series: Any) -> Iterator[Any]:
    """Yield the columns of categories in a column, flat."""
    match series.dtype:
        case pl.Categorical() | pl.Enum():
            yield series
        case pl.List() | pl.Array():
            yield from _categories(series.explode())
        case pl.Struct():
            for part in series.struct.unnest().iter_columns():
                yield from _categories(part.alias(NAMELESS))
        case _:
            return


def _longest(categories: Any) -> int:
    return int(categories.unique().cast(pl.String).str.len_bytes().max() or 0)
