"""Data files: the columns and the first rows of one, without the libraries that train.

Covered: JSON, JSON Lines, CSV, TSV and text by the standard library, compressed or not; Parquet and Arrow where pyarrow
is installed. Read as datasets 5.2 reads them. Not covered: what comes after the first rows of a text format.
"""

import bz2
import csv
import gzip
import json
import lzma
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from holdfast.core.errors import SourceError, Spot

# Rows that are looked at; a check must not read a corpus.
FIRST = 100
# A JSON array can only be read whole.
LARGEST_ARRAY_BYTES = 64 << 20
PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


class BadDataError(SourceError):
    """Data that is there and can surely not be read: the job would fail on it."""

    def __init__(self, what: str, path: Path, line: int | None = None) -> None:
        super().__init__(what, where=Spot(str(path), line), fix="mend the file, or name another")


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a table.

    Attributes:
        columns: Column names, in the order they come up.
        rows: Number of all rows, or None where more may follow than were read.
    """

    columns: tuple[str, ...]
    rows: int | None


def suffix_of(path: Path) -> str:
    """Return a file's ending without that of its compression.

    >>> suffix_of(Path("data.jsonl.gz"))
    '.jsonl'
    """
    return Path(path.stem).suffix.lower() if path.suffix.lower() in PACKED else path.suffix.lower()


def read_head(path: Path) -> Head:
    """Return the beginning of a data file.

    Raises:
        BadDataError: It is empty, malformed or unreadable.
        SourceError: It cannot be read here, and may be good.
    """
    try:
        head = READERS[suffix_of(path)](path)
    except OSError as error:
        raise BadDataError(f"{path} cannot be read: {error.strerror or error}", path) from error
    except (UnicodeDecodeError, EOFError, lzma.LZMAError) as error:
        raise BadDataError(f"{path} is not what its name says: {error}", path) from error
    if head.rows == 0 or not head.columns:
        raise BadDataError(f"{path} holds no rows", path)
    return head


def _open(path: Path) -> TextIO:
    opened: TextIO = PACKED.get(path.suffix.lower(), open)(path, "rt", encoding="utf-8-sig", newline="")
    return opened


def _head(rows: Iterator[dict[str, Any]]) -> Head:
    """Return the head of a table of which each row names its columns."""
    first = list(islice(rows, FIRST))
    columns = tuple(dict.fromkeys(str(name) for row in first for name in row))
    return Head(columns, len(first) if next(rows, None) is None else None)


def _read_json(path: Path) -> Head:
    with _open(path) as file:
        beginning = next((line for line in file if not line.isspace()), "")
    if not beginning:
        return Head((), 0)
    if not beginning.lstrip().startswith("[") and _is_json(beginning):
        with _open(path) as file:
            return _head(_lines(file, path))
    return _head(iter(_whole(path)))


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except json.JSONDecodeError:
        return False
    return True


def _lines(file: Iterable[str], path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of JSON Lines."""
    for number, line in enumerate(file, start=1):
        if not line.isspace():
            yield _row(_parse(line.strip(), path, number), path, number)


def _whole(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file that is one JSON value: an array of objects, or one object, which is one row."""
    if path.stat().st_size > LARGEST_ARRAY_BYTES:
        fix = "write it as JSON Lines, one row a line"
        raise SourceError("a JSON array of this size is not read for a check", where=Spot(str(path)), fix=fix)
    with _open(path) as file:
        value = _parse(file.read(), path)
    return [_row(row, path) for row in (value if isinstance(value, list) else [value])]


def _parse(text: str, path: Path, line: int = 1) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        at = line + error.lineno - 1
        raise BadDataError(f"{path}, line {at}: not JSON ({error.msg})", path, at) from error


def _row(value: Any, path: Path, line: int | None = None) -> dict[str, Any]:
    if not isinstance(value, dict):
        at = f", line {line}" if line else ""
        raise BadDataError(f'{path}{at}: a row is an object such as {{"text": …}}, not {value!r:.40}', path, line)
    return value


def _read_csv(path: Path) -> Head:
    csv.field_size_limit(sys.maxsize)  # texts are longer than the 128 KiB that the module allows
    with _open(path) as file:
        rows = (row for row in csv.reader(file) if row)
        columns = _named(next(rows, []))
        return _head(dict.fromkeys(columns) for _ in rows)


def _named(header: list[str]) -> tuple[str, ...]:
    """Return the names that pandas, which datasets reads CSV with, gives the columns."""
    names: list[str] = []
    for position, name in enumerate(header):
        wanted = name or f"Unnamed: {position}"
        before = header[:position].count(name) if name else 0
        names.append(f"{wanted}.{before}" if before else wanted)
    return tuple(names)


def _read_text(path: Path) -> Head:
    with _open(path) as file:
        return _head({"text": line} for line in file)


def _read_parquet(path: Path) -> Head:
    parquet = _import("pyarrow.parquet", path)
    try:
        with parquet.ParquetFile(path) as file:
            return Head(tuple(file.schema_arrow.names), file.metadata.num_rows)
    except ValueError as error:  # what pyarrow's own errors are
        raise BadDataError(f"{path} is no Parquet: {error}", path) from error


def _read_arrow(path: Path) -> Head:
    """Read what `Dataset.save_to_disk` and the datasets cache write: a stream; else a file with a footer."""
    ipc = _import("pyarrow.ipc", path)
    for kind in (ipc.open_stream, ipc.open_file):
        try:
            with path.open("rb") as file, kind(file) as table:
                return Head(tuple(table.schema.names), None)
        except ValueError:
            continue
    raise BadDataError(f"{path} is no Arrow file", path)


def _import(module: str, path: Path) -> Any:
    """Import a part of pyarrow, which takes a moment and only these formats need."""
    try:
        return import_module(module)
    except ImportError:
        what, fix = f"`pyarrow` is not installed, and {path.name} needs it", "pip install 'holdfast[train]'"
        raise SourceError(f"{what}: {fix}", where=Spot(str(path)), fix=fix) from None


READERS: dict[str, Callable[[Path], Head]] = {
    ".json": _read_json,
    ".jsonl": _read_json,
    ".csv": _read_csv,
    ".txt": _read_text,
    ".parquet": _read_parquet,
    ".arrow": _read_arrow,
}
"""How each kind of data file is read."""
