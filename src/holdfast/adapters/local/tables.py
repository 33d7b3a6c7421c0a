"""Data files: the columns and the first rows of one, without the libraries that train and those that read all rows.

Covered: JSON, JSON Lines, CSV, TSV and text, compressed or not; Parquet and Arrow by their own words. All by the standard
library, in a moment. Read as datasets 5.2 reads them. Not covered: what comes after the first rows of a text format, which
`holdfast.adapters.rows` reads.
"""

import csv
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from holdfast.adapters.rows.arrow_messages import read_schema
from holdfast.adapters.rows.csv_text import is_blank, pandas_names
from holdfast.adapters.rows.footer import read_footer
from holdfast.adapters.rows.json_text import NO_ROW, chunks_of, rows_on
from holdfast.adapters.rows.names import BadDataError, kind_of
from holdfast.adapters.rows.sources import open_bytes, opened
from holdfast.catalog.formats import types_of_rows
from holdfast.core.rows.columns import NULL, Scalar, Type

# Rows that are looked at; a check must not read a corpus.
FIRST = 100
# Rows that are counted beyond those: in some hundredths of a second.
COUNTED = 10_000
# What first rows say of a column that says nothing of its type: it is empty there, or differs by row.
UNSURE = (NULL, Scalar("json"))


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a table.

    Attributes:
        columns: Column names, in the order they come up.
        rows: Number of all rows, or None where more may follow than were read.
        types: Of the columns, where the file tells them itself, or its first rows do.
    """

    columns: tuple[str, ...]
    rows: int | None
    types: Mapping[str, Type] = field(default_factory=dict[str, Type])


def read_head(path: Path) -> Head:
    """Return the beginning of a data file.

    Raises:
        BadDataError: It is empty, malformed or unreadable.
        SourceError: It cannot be read here, and may be good.
    """
    try:
        head = READERS[kind_of(path)](path)
    except OSError as error:
        raise BadDataError(f"{path} cannot be read: {error.strerror or error}", path) from error
    except (UnicodeDecodeError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise BadDataError(f"{path} is not what its name says: {error}", path) from error
    if head.rows == 0 or not head.columns:
        raise BadDataError(f"{path} holds no rows", path)
    return head


def _open(path: Path) -> io.TextIOWrapper:
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", newline="")


def _head(rows: Iterator[dict[str, Any]], *, typed: bool = False) -> Head:
    """Return the head of a table of which each row names its columns, and, if it is typed, holds what stands in them."""
    first = list(islice(rows, FIRST))
    columns = dict.fromkeys(str(name) for row in first for name in row)
    found = types_of_rows(first) if typed else {}
    types = {name: kind for name, kind in found.items() if kind not in UNSURE}
    more = _count(rows, columns)
    return Head(tuple(columns), None if more is None else len(first) + more, types)


def _count(rows: Iterator[dict[str, Any]], columns: dict[str, None]) -> int | None:
    """Return the number of rows that follow, and add the columns that they name; None where counting would take long, or a row is damaged."""
    count = 0
    try:
        for row in islice(rows, COUNTED):
            count += 1
            columns.update(dict.fromkeys(map(str, row)))
        return count if next(rows, None) is None else None
    except BadDataError:
        return None


def _read_json(path: Path) -> Head:
    return _head(_rows_of_json(path), typed=True)


def _rows_of_json(path: Path) -> Iterator[dict[str, Any]]:
    with opened(path) as source:
        for chunk in chunks_of(source):
            for number, line in enumerate(io.BytesIO(chunk.text)):
                yield from _rows_on(line, path, None if chunk.line is None else chunk.line + number)
            if chunk.problem:
                raise BadDataError(f"{path}, {chunk.problem}", path)
        if source.problem:
            raise BadDataError(f"{path} is not what its name says: {source.problem}", path)


def _rows_on(line: bytes, path: Path, number: int | None) -> Iterator[dict[str, Any]]:
    at = f"{path}, line {number}" if number else str(path)
    try:
        values = rows_on(line)
    except ValueError as error:
        raise BadDataError(f"{at}: {error}", path, number) from error
    for value in values:
        if not isinstance(value, dict):
            raise BadDataError(f"{at}: {NO_ROW.format(value)}", path, number)
        yield value


def _read_csv(path: Path, delimiter: str = ",") -> Head:
    csv.field_size_limit(sys.maxsize)  # texts are longer than the 128 KiB that the module allows
    with _open(path) as file:
        rows = (row for row in csv.reader(file, delimiter=delimiter) if not is_blank(row))
        columns = pandas_names(next(rows, []))
        return _head(dict.fromkeys(columns) for _ in rows)


def _read_text(path: Path) -> Head:
    with _open(path) as file:
        return _head({"text": line} for line in file)


def _read_parquet(path: Path) -> Head:
    footer = read_footer(path)
    return Head(tuple(footer.columns), footer.rows, footer.columns)


def _read_arrow(path: Path) -> Head:
    _, columns = read_schema(path)
    return Head(tuple(columns), None, columns)


READERS: dict[str, Callable[[Path], Head]] = {
    "json": _read_json,
    "csv": _read_csv,
    "tsv": partial(_read_csv, delimiter="\t"),
    "text": _read_text,
    "parquet": _read_parquet,
    "arrow": _read_arrow,
}
"""How each kind of data file is read, by its builder."""
