"""Data that a program reads from files and folders of this machine: its columns, or why it surely cannot be read.

Covered: what the builders `json`, `csv`, `parquet`, `arrow` and `text` read by the usual endings; folders as `load_dataset` finds
their splits; what `save_to_disk` wrote. Not covered: other builders and endings, and arguments that change how files are read.
"""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import expanded
from holdfast.adapters.local.datasets import check_alike, head_of, unreadable_data
from holdfast.adapters.local.file_patterns import WILD, found_in
from holdfast.adapters.local.near_names import did_you_mean
from holdfast.adapters.rows.names import BadDataError
from holdfast.adapters.rows.splits import Splits, find_splits, is_saved, saved_splits
from holdfast.catalog.data.files import READ, ending_of
from holdfast.core.check.facts import Dataset
from holdfast.core.check.reference import DataFiles, Reference
from holdfast.core.errors import SourceError

SAVED, FOLDER = "saved", "folder"
TRAIN: Final = "train"
KINDS: Final = ("json", "csv", "parquet", "arrow", "text")
"""Builders whose usual files are read here."""


def read_data(start: Path, reference: Reference) -> Dataset:
    """Return the known facts about local data; if it is missing or certainly unreadable, the reason.

    Args:
        start: The folder that relative names start from.
        reference: The data, with how its files are read.

    Raises:
        SourceError: Nothing can be said of it.
    """
    read = reference.read
    if read is None:
        raise SourceError("it is not read from files", where=reference.name, fix="nothing to do")
    try:
        splits = _splits(start, read)
        if read.options:
            raise SourceError(_optional(read), where=reference.name, fix="nothing to do")
        head = head_of(splits, reference.split or _first(splits), Path(reference.name))
        if read.reader == FOLDER:
            check_alike(splits, Path(reference.name))
    except BadDataError as error:
        return Dataset(problem=error.what)
    except OSError as error:
        raise unreadable_data(error, reference.name) from error
    return Dataset(columns=head.columns, rows=head.rows, types=head.types)


def _optional(files: DataFiles) -> str:
    named = [name for name in files.options if name != "**"]
    return f"what `{named[0]}` makes of its files is not known" if named else "how its files are read cannot be seen"


def _first(splits: Splits) -> str:
    return TRAIN if TRAIN in splits else next(iter(splits))


def _splits(start: Path, files: DataFiles) -> Splits:
    """Return the files of each split.

    Raises:
        BadDataError: One of them is not here.
        SourceError: They are read in a way that holdfast does not know.
    """
    if files.reader in (SAVED, FOLDER):
        (name,) = files.names
        return _folder_splits(start / expanded(name), name, files.reader)
    splits = {split: _files_of(start, names) for split, names in files.splits}
    kinds = {READ.get(ending_of(path)) for path in chain.from_iterable(splits.values())}
    if files.reader not in KINDS or kinds != {files.reader}:
        raise SourceError(
            f"how `{files.reader}` reads these files is not known", where=files.names[0], fix="name one file"
        )
    return splits


def _folder_splits(folder: Path, name: str, reader: str) -> Splits:
    """Return the files of each split of a folder.

    Raises:
        BadDataError: It is not here, or not what the reader takes.
        SourceError: Its files are read in a way that holdfast does not know.
    """
    if not folder.is_dir():
        raise BadDataError(f"there is no folder `{name}`{did_you_mean(folder, name)}", folder)
    if reader == FOLDER:
        return find_splits(folder)
    if not is_saved(folder):
        raise BadDataError(f"`{name}` was not written by `save_to_disk`", folder)
    return saved_splits(folder)


def _files_of(start: Path, names: Iterable[str]) -> list[Path]:
    return [path for name in names for path in _files(start, name)]


def _files(start: Path, name: str) -> list[Path]:
    path = start / expanded(name)
    found = [path] if path.is_file() else found_in(start, name) if WILD.intersection(name) else []
    if path.is_dir():
        raise SourceError("which files of a folder are read is not known", where=name, fix="name one file")
    if not found:
        raise BadDataError(f"there is no file `{name}`{did_you_mean(path, name)}", path)
    return found
