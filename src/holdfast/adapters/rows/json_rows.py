"""Rows of JSON and JSON Lines.

Types are decided on the first chunk, 10 MB, as `datasets` does; what comes later and does not fit there is a place that
cannot be read, for `load_dataset` stops there. Each chunk is read by polars; only one that polars does not read, or would
read otherwise than pyarrow, is looked at line by line, in Python.

Covered: one row a line; several on one line; an array; objects over several lines, where `datasets` parses them whole.
Not covered: one such object alone in a file of 320 KB to 2.6 MB, of which pandas makes a row for each element; a name that
stands twice in one object, behind the first chunk; there polars takes the first value, and pyarrow raises.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from json.decoder import JSONDecoder
from pathlib import Path
from typing import Any

from holdfast.adapters.rows.fit import MisfitError, fit_row
from holdfast.adapters.rows.frames import frame_of, frame_of_lines
from holdfast.adapters.rows.guess import Guess
from holdfast.adapters.rows.json_text import (
    BOM,
    DECODER,
    MEMORY_PER_BYTE,
    NO_ROW,
    STRICT,
    Chunk,
    DuplicateKeyError,
    chunks_of,
    layout_of,
    rows_on,
    split_chunk,
)
from holdfast.adapters.rows.limits import MOST_CELLS, refuse_wide, width_of
from holdfast.adapters.rows.names import BadDataError
from holdfast.adapters.rows.pieces import CHUNK_BYTES, MOST_BROKEN, Columns, FilePreview, Pieces, RowChunk
from holdfast.adapters.rows.sources import opened
from holdfast.core.rows.scan import UnreadablePart

# Above this, `datasets` needs more memory than many machines have for one array, which it reads whole.
LARGE_ARRAY_BYTES = 1 << 30


def look_at_json(path: Path, chunk_bytes: int = CHUNK_BYTES) -> FilePreview:
    """Return the columns that `datasets` decides on.

    Raises:
        BadDataError: There is no row in the beginning of the file.
    """
    with opened(path) as source:
        layout = layout_of(source.finish(source.read(chunk_bytes).removeprefix(BOM)))
    seen = _see_beginning(path, chunk_bytes, whole=layout == "array")
    columns = seen.guess.columns(strict=not seen.odd_line and layout != "values")
    if not columns:
        raise seen.without_rows()
    if layout == "lines" and seen.odd_line:
        seen.note_mixed()
    if layout == "array":
        seen.note_size()
    return FilePreview(columns=columns, whole=layout == "array", problems=tuple(seen.problems))


def _see_beginning(path: Path, chunk_bytes: int, *, whole: bool) -> "_Beginning":
    """Return the beginning of a file: its first chunk, or of an array all of it."""
    seen = _Beginning(path)
    with opened(path) as source:
        for chunk in chunks_of(source, chunk_bytes):
            seen.see(chunk)
            if not whole:
                break
        if source.problem:
            seen.blame(source.problem, None)
    return seen


def _too_large(size: int) -> str:
    memory = f"into about {size * MEMORY_PER_BYTE / 1e9:.0f} GB of memory"
    return f"one JSON array of {size / 1e9:.1f} GB, which `load_dataset` reads whole, {memory}: write one row a line"


@dataclass(slots=True)
class _Beginning:
    """What the rows show that types are decided on.

    Attributes:
        path: The file.
        guess: Their types.
        odd_line: Which line is not one row: `line 3 is blank`; empty where each is one, or cannot be read.
        problems: What only looking at each of them shows.
        fault: What is wrong with the first row that cannot be read.
        first: Whether no chunk was seen yet; only in the first are names looked for that stand twice, which takes time.
    """

    path: Path
    guess: Guess = field(default_factory=Guess)
    odd_line: str = ""
    problems: list[UnreadablePart] = field(default_factory=list[UnreadablePart])
    fault: UnreadablePart | None = None
    first: bool = True

    def see(self, chunk: Chunk) -> None:
        """Take in the rows of a chunk."""
        decoder = STRICT if self.first else DECODER
        for number, line in enumerate(chunk.text.splitlines()):
            self._see_line(line, None if chunk.line is None else chunk.line + number, decoder)
        self.first = False
        if chunk.problem:
            self.blame(chunk.problem, chunk.line)

    def _see_line(self, line: bytes, at: int | None, decoder: JSONDecoder) -> None:
        rows = self._rows(line, at, decoder)
        if rows is None:
            return
        self.odd_line = self.odd_line or _odd_line(len(rows), at)
        for row in rows:
            self._see_row(row, at)

    def _see_row(self, row: Any, at: int | None) -> None:
        if isinstance(row, dict):
            self.guess.see(row)
            refuse_wide(self.guess.size, self.path)
        elif row is not None:
            self.blame(NO_ROW.format(row), at)

    def _rows(self, line: bytes, at: int | None, decoder: JSONDecoder) -> list[Any] | None:
        """Return the rows on a line; None if it is not valid JSON."""
        try:
            return rows_on(line, decoder)
        except DuplicateKeyError as error:
            self.problems.append(UnreadablePart(str(self.path), f"{error}: `load_dataset` stops", at))
            return rows_on(line)
        except ValueError as error:
            self.blame(str(error), at)
            return None

    def blame(self, what: str, line: int | None) -> None:
        """Note a fault; if there are no rows, the first one is reported."""
        self.fault = self.fault or UnreadablePart(str(self.path), what, line)

    def note_mixed(self) -> None:
        """Note the values of several types that can only be read where each line is one row."""
        if (place := self.guess.mixed()) is not None:
            what = f"`{place}` has values of several types, which `load_dataset` reads only where each line is one row: {self.odd_line}"
            self.problems.append(UnreadablePart(str(self.path), what))

    def note_size(self) -> None:
        """Note that an array is too large for the memory of many machines."""
        if (size := self.path.stat().st_size) > LARGE_ARRAY_BYTES:
            self.problems.append(UnreadablePart(str(self.path), _too_large(size)))

    def without_rows(self) -> BadDataError:
        """Return the error for a beginning without any row."""
        if self.fault is None:
            return BadDataError(f"{self.path} holds no rows", self.path)
        at = f", line {self.fault.line}" if self.fault.line else ""
        return BadDataError(f"{self.path}{at}: {self.fault.what}", self.path, self.fault.line)


def _odd_line(count: int, at: int | None) -> str:
    """Return what is odd about a line with a number of rows; empty of a line with one."""
    if count == 1:
        return ""
    counted = f"holds {count} rows" if count else "is blank"
    return f"line {at:,} {counted}" if at else f"a line {counted}"


def read_json(path: Path, columns: Columns, chunk_bytes: int = CHUNK_BYTES) -> Pieces:
    """Yield the rows of a file, put into the columns."""
    reading = _Reading(str(path), columns)
    with opened(path) as source:
        for chunk in chunks_of(source, chunk_bytes):
            for part in split_chunk(chunk, MOST_CELLS // width_of(columns)):
                yield from reading.read(part)
                if reading.given_up:
                    return reading.row
        if source.problem:
            yield UnreadablePart(str(path), source.problem, row=reading.row)
    return reading.row


@dataclass(slots=True)
class _Reading:
    """Where reading a file has come to.

    Attributes:
        path: The file.
        columns: The types that are decided.
        row: Number of the next row.
        faults: How many rows could not be read.
        noted: What was said already of rows that can be read, and are not as they should be.
        given_up: Whether nothing more is read.
    """

    path: str
    columns: Columns
    row: int = 0
    faults: int = 0
    noted: set[str] = field(default_factory=set[str])
    given_up: bool = False

    def read(self, chunk: Chunk) -> Iterator[RowChunk | UnreadablePart]:
        """Yield the rows of a chunk."""
        if chunk.text:
            frame, sure = frame_of_lines(chunk.text, self.columns)
            if sure:
                yield from self._give(frame)
            else:
                yield from self._one_by_one(chunk, frame)
        if chunk.problem and not self.given_up:
            self.given_up = True
            yield UnreadablePart(self.path, chunk.problem, row=self.row)

    def _give(self, frame: Any) -> Iterator[RowChunk]:
        if frame.height:
            yield RowChunk(self.row, frame)
        self.row += frame.height

    def _one_by_one(self, chunk: Chunk, frame: Any | None) -> Iterator[RowChunk | UnreadablePart]:
        """Yield the rows of a chunk in which something may be wrong; nothing is where they can all be read."""
        verdicts = list(self._verdicts(chunk))
        if frame is not None and not any(isinstance(verdict, UnreadablePart) for verdict in verdicts):
            yield from self._give(frame)
            return
        good: list[dict[str, Any]] = []
        for verdict in verdicts:
            if not isinstance(verdict, UnreadablePart):
                good.append(verdict)
                continue
            if verdict.row is not None:
                yield from self._give_rows(good)
                good = []
                self.row = verdict.row + 1
            yield verdict
        yield from self._give_rows(good)

    def _give_rows(self, rows: list[dict[str, Any]]) -> Iterator[RowChunk]:
        if rows:
            yield from self._give(frame_of(rows, self.columns))

    def _verdicts(self, chunk: Chunk) -> Iterator[dict[str, Any] | UnreadablePart]:
        """Yield each row, or why it cannot be read; what is said of one that can be read has no row."""
        row = self.row
        for number, line in enumerate(chunk.text.split(b"\n")):
            if not line.strip():
                continue
            at = None if chunk.line is None else chunk.line + number
            for verdict in self._verdicts_on(line, at, row):
                yield verdict
                row += not isinstance(verdict, UnreadablePart) or verdict.row is not None
            if self.faults >= MOST_BROKEN:
                self.given_up = True
                yield UnreadablePart(self.path, f"{MOST_BROKEN} rows cannot be read; what follows is not looked at", at)
                return

    def _verdicts_on(self, line: bytes, at: int | None, row: int) -> Iterator[dict[str, Any] | UnreadablePart]:
        try:
            values = rows_on(line)
        except ValueError as error:
            self.faults += 1
            yield UnreadablePart(self.path, str(error), at, row)
            return
        for offset, value in enumerate(values):
            notes: list[str] = []
            try:
                fitted = fit_row(value, self.columns, notes)
            except MisfitError as error:
                self.faults += 1
                yield UnreadablePart(self.path, f"{error}: {error.then}", at, row + offset)
                continue
            yield from (UnreadablePart(self.path, note, at) for note in notes if note not in self.noted)
            self.noted.update(notes)
            yield fitted
