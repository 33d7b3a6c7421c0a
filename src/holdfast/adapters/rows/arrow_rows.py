"""Rows of Arrow files and streams, which `save_to_disk` and the cache of `datasets` write, some record batches at a time."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

import polars as pl
from polars.exceptions import PolarsError

from holdfast.adapters.foreign_files import open_foreign
from holdfast.adapters.rows.arrow_messages import (
    BATCH,
    DICTIONARY,
    END,
    ArrowMessage,
    messages,
    read_schema,
    unpacked_bytes,
)
from holdfast.adapters.rows.conform import conform
from holdfast.adapters.rows.fit import MisfitError
from holdfast.adapters.rows.limits import slices_of
from holdfast.adapters.rows.names import BadDataError
from holdfast.adapters.rows.pieces import Columns, FilePreview, Pieces, RowChunk
from holdfast.core.rows.scan import UnreadablePart

# Record batches are read together up to so many bytes.
PART_BYTES: Final = 32 << 20
LARGEST_BATCH_BYTES: Final = 256 << 20


def look_at_arrow(path: Path) -> FilePreview:
    """Return a preview of an Arrow file from its schema.

    Raises:
        BadDataError: It is no Arrow.
    """
    _, columns = read_schema(path)
    return FilePreview(columns=columns)


def _frame(file: IO[bytes], parts: list[ArrowMessage], path: Path) -> Any:
    """Return the table in a stream of some messages of the file.

    Raises:
        BadDataError: They are damaged.
    """
    stream = io.BytesIO()
    for part in parts:
        stream.write(part.head())
        file.seek(part.body)
        stream.write(file.read(part.start + part.length - part.body))
    stream.write(END)
    stream.seek(0)
    try:
        return pl.read_ipc_stream(stream, use_pyarrow=False)
    except (PolarsError, pl.exceptions.PanicException, OSError) as error:
        what = str(error).partition("\n")[0]
        raise BadDataError(f"record batches of {path} cannot be read: {what}", path) from error


def read_arrow(path: Path, columns: Columns) -> Pieces:
    """Yield the rows of a file, put into the columns."""
    row = 0
    schema, found = read_schema(path)
    with open_foreign(path) as file:
        try:
            for part in _parts(file, path):
                for frame in slices_of(_frame(file, [schema, *part], path)):
                    yield RowChunk(row, conform(frame, found, columns))
                    row += frame.height
        except MisfitError as error:
            yield UnreadablePart(str(path), f"{error}: `load_dataset` stops", row=row)
        except BadDataError as error:
            yield UnreadablePart(str(path), error.what, row=row)
    return row


def _parts(file: IO[bytes], path: Path) -> Iterator[list[ArrowMessage]]:
    """Yield messages that are read together: dictionaries always, and some batches."""
    dictionaries, batches = list[ArrowMessage](), list[ArrowMessage]()
    kept = size = 0
    for message in messages(file, path):
        own = unpacked_bytes(file, message, path) if message.kind in (DICTIONARY, BATCH) else 0
        if kept + own > LARGEST_BATCH_BYTES:
            what = f"a record batch of {own >> 20:,} MB is not read here: write no more than {LARGEST_BATCH_BYTES >> 20} MB"
            raise BadDataError(f"{path}: {what} at a time", path)
        if message.kind == DICTIONARY:
            dictionaries.append(message)
            kept += own
        elif message.kind == BATCH:
            batches.append(message)
            size += own
        if size >= PART_BYTES:
            yield [*dictionaries, *batches]
            batches, size = [], 0
    if batches:
        yield [*dictionaries, *batches]
