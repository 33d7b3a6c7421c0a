"""Rows of CSV and TSV, as pandas reads them for `datasets`: 10,000 at a time, of which the first decide on the types.

Source: `datasets.packaged_modules.csv`, 5.2, and `pandas.read_csv` that it calls. Tried: `tests/adapters/rows/test_rows_csv.py` runs
both. Not covered: integers beyond 64 bits, for which `load_dataset` stops.
"""

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import polars as pl

from holdfast.adapters.rows.csv_text import is_blank, pandas_names
from holdfast.adapters.rows.encodings import lines_of, tell_undecodable, undecodable
from holdfast.adapters.rows.frames import DTYPES, NAMELESS
from holdfast.adapters.rows.limits import MOST_CELLS, PART_BYTES, refuse_wide
from holdfast.adapters.rows.names import BadDataError
from holdfast.adapters.rows.pieces import (
    CHUNK_BYTES,
    LARGEST_LINE_BYTES,
    MOST_BROKEN,
    Columns,
    FilePreview,
    Pieces,
    RowChunk,
)
from holdfast.adapters.rows.sources import ByteSource, opened
from holdfast.core.rows.columns import STRING, Scalar, Type
from holdfast.core.rows.scan import UnreadablePart

# Rows of which pandas decides on a type.
CHUNK_ROWS: Final = 10_000
# Texts that pandas takes for no value. Source: `pandas._libs.parsers.STR_NA_VALUES`, 3.0.
MISSING: Final = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL",
    "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
WIDEST: Final = 4
"""Bytes of a character in memory."""
LONGEST_NUMBER: Final = 400
"""Characters of a cell that decide on its type."""
INTEGER: Final = r"^\s*[+-]?\d+\s*$"
NUMBER: Final = r"(?i)^\s*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)\s*$"
HEADING: Final = re.compile(r"[\w .-]{1,40}")
"""What columns are called."""
UNCLOSED: Final = "a quote that nothing closes: `load_dataset` stops"
"""The fault of a row that is not over when the file is."""
TRUTH: Final = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


@dataclass(frozen=True, slots=True)
class Record:
    """One row.

    Attributes:
        line: Where it begins, counted from 1.
        cells: Its texts, as many as there are columns.
        fault: Why it cannot be read; empty for a good one.
        label: Of a table whose rows have more cells than its header, the first ones, which pandas takes for the row's name; else empty.
    """

    line: int
    cells: Sequence[str]
    fault: str = ""
    label: Sequence[str] = ()


@dataclass(slots=True)
class CsvRecords:
    """The records of a CSV file.

    Attributes:
        path: The file.
        source: Its bytes.
        delimiter: What stands between its cells.
        names: Its columns, once they were read.
        faults: What is wrong with the file where no single row is.
    """

    path: Path
    source: ByteSource
    delimiter: str = ","
    names: tuple[str, ...] = ()
    faults: list[UnreadablePart] = field(default_factory=list[UnreadablePart])
    _line: int = 0
    _size: int = 0
    _ended: bool = False

    def records(self) -> Iterator[Record]:
        """Yield the rows behind the header."""
        csv.field_size_limit(LARGEST_LINE_BYTES)
        rows = self._rows()
        header = next(rows, None)
        if header is None:
            return
        refuse_wide(len(header.cells), self.path)
        self.names = pandas_names(header.cells)
        skipped: int | None = None
        for row in rows:
            if skipped is None:  # where the first row has more cells than the header, the first ones name the rows
                skipped = max(0, len(row.cells) - len(self.names))
            yield self._shaped(row, skipped)

    def _shaped(self, row: Record, skipped: int) -> Record:
        width, cells = len(self.names), row.cells
        if row.fault or (len(cells) == width and not skipped):
            return row
        if len(cells) > width + skipped:
            fault = (
                f"{len(cells)} cells, and {width + skipped} in the first rows: `load_dataset` stops; {self._quote()}"
            )
            return Record(row.line, (), fault)
        label = cells[:skipped] if len(cells) == width + skipped else ()
        cells = cells[skipped:]
        return Record(row.line, (*cells, *[""] * (width - len(cells))), label=label)

    def shift(self, rows: Sequence[Record]) -> UnreadablePart | None:
        """Return that rows have more cells than the header, unless the first cell of each is its name, as R writes tables."""
        labels = [tuple(row.label) for row in rows if not row.fault]
        if not any(labels) or (all(labels) and len(set(labels)) == len(labels)):
            return None
        cells, columns = len(self.names) + len(next(filter(None, labels))), len(self.names)
        fault = f"{cells} cells, and {columns} in the header: `load_dataset` moves the cells of every row to the left; {self._quote()}"
        return UnreadablePart(str(self.path), fault, rows[0].line)

    def _quote(self) -> str:
        return f"put quotes around a text that has `{SEPARATORS.get(self.delimiter, self.delimiter)}` in it"

    def _rows(self) -> Iterator[Record]:
        reader = csv.reader(self._lines(), delimiter=self.delimiter)
        line = 1
        while True:
            self._size = 0
            try:
                cells = next(reader)
            except StopIteration:
                break
            except csv.Error as error:
                yield Record(line, (), f"no CSV ({error}), and nothing behind it is read")
                return
            if not is_blank(cells):
                yield Record(line, cells, UNCLOSED if self._ended else "")
            line = reader.line_num + 1

    def _lines(self) -> Iterator[str]:
        first = True
        while chunk := self.source.chunk(CHUNK_BYTES):
            chunk = chunk.removeprefix(codecs.BOM_UTF8) if first else chunk
            error = undecodable(chunk)
            if error:
                self._note_undecodable(chunk, error)
            # No name stands for a line, which would be kept until the next one.
            yield from map(self._counted, lines_of(chunk, keep_ends=True, damaged=error is not None))
            first = False
        self._ended = True
        if self.source.problem:
            self.faults.append(UnreadablePart(str(self.path), self.source.problem, self._line))

    def _counted(self, line: str) -> str:
        self._line += 1
        self._size += len(line)
        if self._size > LARGEST_LINE_BYTES:
            raise csv.Error(f"a row of more than {LARGEST_LINE_BYTES >> 20} MB")
        return line

    def _note_undecodable(self, chunk: bytes, error: UnicodeDecodeError) -> None:
        if not any("UTF-8" in fault.what for fault in self.faults):
            line = self._line + chunk.count(b"\n", 0, error.start) + 1
            self.faults.append(UnreadablePart(str(self.path), tell_undecodable(chunk, error), line))


SEPARATORS: Final = {";": ";", "\t": "\\t", "|": "|", ",": ","}
"""What may stand between columns, and how Python spells it."""
PROMISED: Final = {",": "commas", "\t": "tabs"}


def look_at_csv(path: Path, delimiter: str = ",") -> FilePreview:
    """Return the columns, with the types that pandas decides on.

    Raises:
        BadDataError: There is nothing in the file, not even a header.
    """
    with opened(path) as source:
        table = CsvRecords(path, source, delimiter)
        records = list(_first(table.records()))
    if not table.names:
        raise BadDataError(f"{path}: {source.problem}" if source.problem else f"{path} holds no rows", path)
    rows = [record.cells for record in records if not record.fault]
    columns = dict(zip(table.names, _types_of(_texts(len(table.names), rows)), strict=True))
    fault = _other_separator(table.names, delimiter)
    separated = UnreadablePart(str(path), fault, 1) if fault else None
    problems = tuple(filter(None, (separated, table.shift(records))))
    return FilePreview(columns=columns, whole=True, problems=problems)


def _first(records: Iterator[Record]) -> Iterator[Record]:
    """Yield records with the beginnings of the cells that decide on the types; of very wide tables fewer than pandas takes."""
    cells = 0
    for record in islice(records, CHUNK_ROWS):
        yield replace(record, cells=[cell[:LONGEST_NUMBER] for cell in record.cells])
        cells += len(record.cells)
        if cells > MOST_CELLS:
            return


def _batch(records: Iterator[Record]) -> Iterator[Record]:
    """Yield records that are put into one frame."""
    size = cells = 0
    for record in islice(records, CHUNK_ROWS):
        yield record
        size, cells = size + sum(map(len, record.cells)), cells + len(record.cells)
        if size * WIDEST > PART_BYTES or cells > MOST_CELLS:
            return


def _other_separator(names: Sequence[str], delimiter: str) -> str:
    """Return the message for a header with another separator than the file's name promises; Excel writes `;` in some languages."""
    if len(names) != 1:
        return ""
    for sign, shown in SEPARATORS.items():
        if sign == delimiter:
            continue
        if names[0] == f"sep={sign}" or (sign in names[0] and all(map(HEADING.fullmatch, names[0].split(sign)))):
            how = f'pass `sep="{shown}"` to `load_dataset`, or save the file with {PROMISED.get(delimiter, "commas")}'
            return f"the columns are separated by `{shown}`, and each row is read as one column: {how}"
    return ""


def _texts(width: int, rows: Sequence[Sequence[str]]) -> Any:
    """Return cells as a frame of texts, null where there is no value; a column is called by its number.

    Of a table with thousands of columns, each step is one expression over all of them: one a column takes a minute.
    """
    cells = list(zip(*rows, strict=True)) if rows else [()] * width
    frame = pl.DataFrame({str(at): pl.Series(NAMELESS, column, dtype=pl.String) for at, column in enumerate(cells)})
    return frame.select(pl.when(~pl.all().is_in(MISSING)).then(pl.all()))


def _types_of(texts: Any) -> list[Type]:
    """Return the types that pandas decides on for columns of texts."""
    signs = (
        pl.all().count(),
        pl.all().str.contains(INTEGER).all(),
        pl.all().str.contains(NUMBER).all(),
        pl.all().is_in(list(TRUTH)).all(),
    )
    signs_of_columns = zip(*(texts.select(sign).row(0) for sign in signs), strict=True)
    return [
        _type_of(whole=count == texts.height, none=not count, integer=integer, number=number, truth=truth)
        for count, integer, number, truth in signs_of_columns
    ]


def _type_of(*, whole: bool, none: bool, integer: bool, number: bool, truth: bool) -> Type:
    """Return the type of a column: whether each row has a value, whether none has, and whether all values are such."""
    if none:
        return Scalar("float")
    if integer:
        return Scalar("integer" if whole else "float")
    if number:
        return Scalar("float")
    return Scalar("boolean") if truth else STRING


def read_csv(path: Path, columns: Columns, delimiter: str = ",") -> Pieces:
    """Yield the rows of a file, put into the columns."""
    start = faults = reported = 0
    with opened(path) as source:
        table = CsvRecords(path, source, delimiter)
        records = table.records()
        while batch := list(_batch(records)):
            for piece in _pieces(batch, table, columns, start):
                yield piece
                faults += isinstance(piece, UnreadablePart)
                if faults >= MOST_BROKEN:
                    yield UnreadablePart(str(path), f"{MOST_BROKEN} rows cannot be read; what follows is not looked at")
                    return start + len(batch)
            yield from table.faults[reported:]
            reported, start = len(table.faults), start + len(batch)
            del batch  # else it is in memory beside the next one
        yield from table.faults[reported:]
    return start


def _pieces(
    batch: Sequence[Record], table: CsvRecords, columns: Columns, start: int
) -> Iterator[RowChunk | UnreadablePart]:
    """Yield the rows of a batch, and those that cannot be read between them."""
    good = [record.cells for record in batch if not record.fault]
    frame, misfits = _frame(good, table.names, columns)
    of_good = iter(misfits)
    faults = [record.fault or next(of_good) for record in batch]
    begun = given = 0  # rows of the batch, and of the frame
    for number in (number for number, fault in enumerate(faults) if fault):
        record = batch[number]
        yield from _run(frame, given, number - begun, start + begun)
        given += number - begun + (not record.fault)
        begun = number + 1
        yield UnreadablePart(str(table.path), faults[number], record.line, start + number)
    yield from _run(frame, given, len(batch) - begun, start + begun)


def _run(frame: Any, given: int, count: int, start: int) -> Iterator[RowChunk]:
    """Yield some rows of a frame that follow one another; nothing if there are none."""
    if count:
        yield RowChunk(start, frame.slice(given, count))


def _frame(rows: Sequence[Sequence[str]], names: Sequence[str], columns: Columns) -> tuple[Any, list[str]]:
    """Return the cells of rows as a frame of the columns, and of each row the message for a text that is no value of its column's type."""
    numbers = {name: str(at) for at, name in enumerate(names)}
    kinds = {name: kind for name, kind in columns.items() if name in numbers}
    texts = _texts(len(names), rows).select(numbers[name] for name in kinds)
    frame = texts.select(_cast(pl.col(numbers[name]), kind) for name, kind in kinds.items())
    faults = [""] * len(rows)
    for row, fault in _misfits(texts, frame, kinds):
        faults[row] = fault
    frame.columns = list(kinds)
    return frame, faults


def _misfits(texts: Any, frame: Any, kinds: Columns) -> Iterator[tuple[int, str]]:
    """Yield the row and the message of each text for which a frame has no value."""
    for (name, kind), given, cast in zip(kinds.items(), texts.iter_columns(), frame.iter_columns(), strict=True):
        if given.null_count() != cast.null_count():
            for row in (cast.is_null() & given.is_not_null()).arg_true().to_list():
                yield row, _misfit(name, given[row], kind)


def _misfit(name: str, text: str, kind: Type) -> str:
    return f"`{name}` is {text!r:.40} here, and {kind} in the first rows: `load_dataset` stops"


def _cast(texts: pl.Expr, kind: Type) -> pl.Expr:
    """Return texts as values of a type; null where they are none."""
    match kind:
        case Scalar("integer"):
            trimmed = texts.str.strip_chars().str.strip_prefix("+")
            whole = trimmed.cast(pl.Int64, strict=False)
            reals = trimmed.cast(pl.Float64, strict=False)
            return whole.fill_null(pl.when(reals == reals.floor()).then(reals).cast(pl.Int64, strict=False))
        case Scalar("float"):
            return texts.str.strip_chars().str.strip_prefix("+").cast(pl.Float64, strict=False)
        case Scalar("boolean"):
            return texts.replace_strict(TRUTH | {"1": True, "0": False}, default=None, return_dtype=pl.Boolean)
        case Scalar(word):
            return texts.cast(DTYPES.get(word, pl.String))
        case _:
            return texts


# A folder's `.tsv` files are read by `datasets` as CSV with tabs.
look_at_tsv: Final = partial(look_at_csv, delimiter="\t")
read_tsv: Final = partial(read_csv, delimiter="\t")
