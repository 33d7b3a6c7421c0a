"""Rows of text files: one a line, blank ones too.

Source: `datasets.packaged_modules.text`, 5.2. Tried: `tests/adapters/rows/test_rows_csv.py` runs both.
"""

from pathlib import Path
from typing import Final

import polars as pl

from holdfast.adapters.rows.encodings import lines_of, tell_undecodable, undecodable
from holdfast.adapters.rows.pieces import CHUNK_BYTES, Columns, FilePreview, Pieces, RowChunk
from holdfast.adapters.rows.sources import opened
from holdfast.core.rows.columns import STRING
from holdfast.core.rows.scan import UnreadablePart

COLUMNS: Final = {"text": STRING}


def look_at_text(path: Path) -> FilePreview:
    """Return the one column.

    Raises:
        BadDataError: The file cannot be opened.
    """
    with opened(path):
        return FilePreview(columns=COLUMNS)


def read_text(path: Path, columns: Columns) -> Pieces:
    """Yield the lines of a file."""
    row, reported = 0, False
    with opened(path) as source:
        while chunk := source.chunk(CHUNK_BYTES):
            if (error := undecodable(chunk)) and not reported:
                at, reported = row + chunk.count(b"\n", 0, error.start), True
                yield UnreadablePart(str(path), tell_undecodable(chunk, error), at + 1, at)
            lines = list(lines_of(chunk, keep_ends=False, damaged=error is not None))
            yield RowChunk(row, pl.DataFrame(dict.fromkeys(columns, lines), schema=dict.fromkeys(columns, pl.String)))
            row += len(lines)
        if source.problem:
            yield UnreadablePart(str(path), source.problem, row + 1, row)
    return row
