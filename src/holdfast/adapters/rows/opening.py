"""Opening a dataset's rows: which files it is, in which order, and which of their rows."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import expanded, is_there
from holdfast.adapters.rows.arrow_rows import look_at_arrow, read_arrow
from holdfast.adapters.rows.csv_rows import look_at_csv, look_at_tsv, read_csv, read_tsv
from holdfast.adapters.rows.json_rows import look_at_json, read_json
from holdfast.adapters.rows.limits import refuse_wide, slices_of, width_of
from holdfast.adapters.rows.names import BadDataError, kind_of
from holdfast.adapters.rows.parquet_rows import look_at_parquet, read_parquet
from holdfast.adapters.rows.pieces import Columns, FilePreview, Format, Pieces, RowChunk
from holdfast.adapters.rows.sources import refuse_strangers
from holdfast.adapters.rows.splits import Splits, find_splits, is_saved, saved_splits
from holdfast.adapters.rows.text_rows import look_at_text, read_text
from holdfast.catalog.data.slices import ALL, Slice, parse_slices
from holdfast.core.errors import SourceError
from holdfast.core.rows.columns import Type
from holdfast.core.rows.scan import UnreadablePart
from holdfast.ports import Batch

FORMATS: Final[dict[str, Format]] = {
    "json": Format(look_at_json, read_json),
    "csv": Format(look_at_csv, read_csv),
    "tsv": Format(look_at_tsv, read_tsv),
    "text": Format(look_at_text, read_text),
    "parquet": Format(look_at_parquet, read_parquet),
    "arrow": Format(look_at_arrow, read_arrow),
}
"""How each kind of data file is read, by its builder."""
WRITTEN: Final = ("json", "csv", "tsv", "text")
"""Those that are texts."""


def open_rows(path: str | Path, split: str = "train") -> "FileRows":
    """Open a file or a folder; also what `save_to_disk` wrote, which `load_dataset` refuses.

    Args:
        path: The file, or the folder as `load_dataset` would be given it.
        split: The split, slice or sum of splits that is requested: `train[:10%]+test`.

    Raises:
        BadDataError: It is not there, holds no data, or its beginning cannot be read: the job would fail on it.
        SourceError: It cannot be read here, and may be good.
        UsageError: The slice is none.
    """
    path = expanded(path)
    if not is_there(path):
        raise BadDataError(f"no such file or folder: {path}", path)
    return rows_of_files(_splits_of(path), split, path)


def _splits_of(path: Path) -> Splits:
    if path.is_file():
        return {"train": [path]}
    return saved_splits(path) if is_saved(path) else find_splits(path)


def rows_of_files(splits: Mapping[str, Sequence[Path]], split: str, where: Path) -> "FileRows":
    """Open the rows of files that are known, by split; the first split's first file decides on the columns.

    Raises:
        BadDataError: As `open_rows`.
        SourceError: As `open_rows`.
        UsageError: As `open_rows`.
    """
    slices = tuple(part for part_slice in parse_slices(split) for part in _named(part_slice, splits, where))
    first = SplitFiles(next(iter(splits.values())))
    files = {name: first if number == 0 else SplitFiles(paths) for number, (name, paths) in enumerate(splits.items())}
    return FileRows(files, slices, first.look())


def _named(wanted: Slice, splits: Mapping[str, Sequence[Path]], where: Path) -> Sequence[Slice]:
    if wanted.split == ALL and ALL not in splits:
        return [Slice(name) for name in splits]
    if wanted.split not in splits:
        raise BadDataError(f"{where} has no split `{wanted.split}`; it has {', '.join(splits)}", where)
    return [wanted]


@dataclass(slots=True)
class SplitFiles:
    """The files of one split; they may have to be fetched one by one, so none is looked at before its turn."""

    paths: Sequence[Path]

    def look(self) -> FilePreview:
        """Return a preview of the first readable file.

        Raises:
            SourceError: None can be read.
        """
        problems = list[SourceError]()
        for number in range(len(self.paths)):
            try:
                path = self.paths[number]
                refuse_strangers(path, written=kind_of(path) in WRITTEN)
                preview = format_of(path).look(path)
                refuse_wide(width_of(preview.columns), path)
            except SourceError as error:
                problems.append(error)
            else:
                return preview
        raise problems[0]

    def pieces(self, look: FilePreview) -> Iterator[RowChunk | UnreadablePart]:
        """Yield the rows of all files, numbered through; one that cannot be read at all is one broken place."""
        start = 0
        for number in range(len(self.paths)):
            reading = self._pieces_of(number, look)
            try:
                while True:
                    yield from _slices(next(reading), start)
            except StopIteration as end:
                start += end.value

    def _pieces_of(self, number: int, look: FilePreview) -> Pieces:
        path = Path()
        try:
            path = self.paths[number]
            refuse_strangers(path, written=kind_of(path) in WRITTEN)
            if look.whole and number and (fault := _unlike(format_of(path).look(path).columns, look.columns)):
                yield UnreadablePart(str(path), fault)
                return 0
            return (yield from format_of(path).read(path, look.columns))
        except SourceError as error:
            yield UnreadablePart(str(path), error.what)
            return 0

    def count(self, look: FilePreview) -> int:
        """Return the number of rows; counting may read all of them."""
        last = 0
        for number in range(len(self.paths)):
            count = self._declared_rows(number)
            last += count if count is not None else _length(self._pieces_of(number, look))
        return last

    def _declared_rows(self, number: int) -> int | None:
        """Return the number of rows that a file states; None if it does not."""
        try:
            path = self.paths[number]
            return format_of(path).look(path).rows if kind_of(path) in COUNTED else None
        except SourceError:
            return None


def _length(pieces: Pieces) -> int:
    """Return the number of rows that a reader yields."""
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            return int(end.value)


def _unlike(actual: Columns, wanted: Columns) -> str:
    """Return the message for a file whose own types differ from those of the first."""
    if list(actual.items()) == list(wanted.items()):
        return ""
    shown, before = (", ".join(f"{name}: {kind}" for name, kind in columns.items()) for columns in (actual, wanted))
    return f"its columns are not those of the first file: {shown}, not {before}: `load_dataset` stops"


# Formats whose files tell how many rows they have.
COUNTED: Final = ("parquet",)


def _slices(piece: RowChunk | UnreadablePart, by: int) -> Iterator[RowChunk | UnreadablePart]:
    """Yield a piece of a file in slices, numbered through all files."""
    if isinstance(piece, UnreadablePart):
        yield piece if piece.row is None else replace(piece, row=piece.row + by)
        return
    start = piece.start + by
    for frame in slices_of(piece.frame):
        yield RowChunk(start, frame)
        start += frame.height


def format_of(path: Path) -> Format:
    """Return the format in which a file is read.

    Raises:
        BadDataError: It is of no known kind.
    """
    return FORMATS[kind_of(path)]


@dataclass(slots=True)
class FileRows:
    """The rows that are requested, of files: the shape of `ports.Rows`.

    Each batch has the columns of `columns`, in that order and with one dtype each: Int64, Float64, Boolean, String, List and
    Struct. Of type `json` there is a String: a value's JSON, or, of a value that is a text, the text itself; so what parses as
    JSON is that value, as it is to `datasets`. Times of JSON and CSV are String too; images are what the file has of them.

    Attributes:
        files: All splits.
        slices: What is requested, of which.
        look: What the beginning tells.
    """

    files: Mapping[str, SplitFiles]
    slices: Sequence[Slice]
    look: FilePreview
    _broken: list[UnreadablePart] = field(default_factory=list[UnreadablePart])

    @property
    def columns(self) -> Mapping[str, Type]:
        """Type of each column."""
        return self.look.columns

    @property
    def broken(self) -> Sequence[UnreadablePart]:
        """Where the files could not be read, as far as they have been."""
        return self._broken

    def batches(self) -> Iterator[Batch]:
        """Yield the rows.

        Raises:
            BadDataError: There are none, or none can be read.
        """
        self._broken[:] = self.look.problems
        start = read = 0
        for part in self.slices:
            for batch in self._part(part, start):
                read += batch.frame.height
                yield batch
            start = self._end
        if not read:
            raise self._without_rows()

    def _without_rows(self) -> BadDataError:
        path = self.files[self.slices[0].split].paths[0]
        if self._broken:
            first = self._broken[0]
            return BadDataError(f"{path}: no row can be read; the first fault: {first.what}", path, first.line)
        return BadDataError(f"{path} holds no rows", path)

    _end: int = 0

    def _part(self, part: Slice, base: int) -> Iterator[Batch]:
        files = self.files[part.split]
        taken = part.rows(files.count(self.look) if part.needs_total else sys.maxsize)
        self._end = base
        for piece in files.pieces(self.look):
            if isinstance(piece, UnreadablePart):
                self._note_broken(piece, taken, base)
                continue
            if piece.start >= taken.stop:
                return
            skipped = max(0, taken.start - piece.start)
            frame = piece.frame.slice(skipped, max(0, taken.stop - piece.start - skipped))
            if frame.height:
                start = piece.start + skipped - taken.start + base
                self._end = start + frame.height
                yield Batch(start, frame)

    def _note_broken(self, piece: UnreadablePart, taken: range, base: int) -> None:
        """Note what cannot be read, unless it is a row that is not requested."""
        if piece.row is None:
            self._broken.append(piece)
        elif piece.row in taken:
            self._broken.append(replace(piece, row=piece.row - taken.start + base))
