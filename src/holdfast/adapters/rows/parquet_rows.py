"""Rows of Parquet files, a row group or a part of one at a time; what is damaged is left out and reported.

Covered: what polars reads. Not covered: encrypted files; damage that decompression does not show, unless pages have a CRC.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import polars as pl
from polars.exceptions import PolarsError

from holdfast.adapters.rows.conform import conform
from holdfast.adapters.rows.fit import MisfitError
from holdfast.adapters.rows.footer import Footer, RowGroup, read_footer
from holdfast.adapters.rows.limits import MOST_CELLS, PART_BYTES, slices_of, width_of
from holdfast.adapters.rows.pieces import MOST_BROKEN, Columns, FilePreview, Pieces, RowChunk
from holdfast.core.rows.scan import UnreadablePart

# Small row groups are read together, up to so many rows, and large ones in parts.
MOST_ROWS: Final = 50_000


def look_at_parquet(path: Path) -> FilePreview:
    """Return a preview of a Parquet file from its footer.

    Raises:
        BadDataError: It is not a Parquet file, or was cut off.
    """
    footer = read_footer(path)
    return FilePreview(columns=footer.columns, rows=footer.rows)


def read_parquet(path: Path, columns: Columns) -> Pieces:
    """Yield the rows of a file, put into the columns."""
    footer = read_footer(path)
    yield from _empty_beginning(path, footer)
    faults = 0
    for start, rows in parts_of(footer.groups, width_of(footer.columns)):
        try:
            # With `glob`, a name with brackets would be a pattern.
            frame = pl.scan_parquet(path, glob=False).slice(start, rows).collect()
            for part in slices_of(frame):
                yield RowChunk(start, conform(part, footer.columns, columns))
                start += part.height  # noqa: PLW2901 - where the next slice begins
            if frame.height < rows:
                yield UnreadablePart(str(path), f"its footer promises {footer.rows:,} rows, and there are {start:,}")
                return start
        except MisfitError as error:
            yield UnreadablePart(str(path), f"{error}: `load_dataset` stops", row=start)
            return footer.rows
        except (PolarsError, pl.exceptions.PanicException, OSError) as error:
            faults += 1
            what = f"rows {start:,} to {start + rows - 1:,} cannot be read: {_first_line(error)}"
            yield UnreadablePart(str(path), what, row=start)
            if faults >= MOST_BROKEN:
                return footer.rows
    return footer.rows


def _empty_beginning(path: Path, footer: Footer) -> Iterator[UnreadablePart]:
    """Yield the fault of a file whose first row group is empty."""
    if footer.groups and not footer.groups[0].rows:
        what = "its first row group has no rows, for which `load_dataset` stops: leave the file out"
        yield UnreadablePart(str(path), what)


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


def parts_of(groups: Sequence[RowGroup], width: int) -> Iterator[tuple[int, int]]:
    """Yield the parts in which a file is read: number of the first row, and how many.

    Args:
        groups: The row groups.
        width: Values in a row.

    >>> list(parts_of([RowGroup(1000, 1 << 20)] * 3 + [RowGroup(4000, 256 << 20)], 1))
    [(0, 3000), (3000, 1000), (4000, 1000), (5000, 1000), (6000, 1000)]
    """
    start = rows = size = 0
    for group in groups:
        if rows and (rows + group.rows > MOST_ROWS or size + group.bytes > PART_BYTES):
            yield start, rows
            start, rows, size = start + rows, 0, 0
        rows, size = rows + group.rows, size + group.bytes
        if size > PART_BYTES:
            yield from _divided(start, rows, size, width)
            start, rows, size = start + rows, 0, 0
    if rows:
        yield from _divided(start, rows, size, width)


def _divided(start: int, rows: int, size: int, width: int) -> Iterator[tuple[int, int]]:
    count = max(-(-size // PART_BYTES), -(-rows * width // MOST_CELLS), 1)
    step = -(-rows // count)
    for offset in range(0, rows, step):
        yield start + offset, min(step, rows - offset)
