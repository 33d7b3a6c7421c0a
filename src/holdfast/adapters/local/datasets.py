"""Datasets: what columns and rows they have.

Covered: files and folders on this machine, as datasets 5.2 finds their splits, and datasets that holdfast makes itself.
Not covered: the Hub, which `holdfast.adapters.hub` asks; folders whose README tells how their files are read.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from holdfast.adapters.foreign_files import expanded, is_there
from holdfast.adapters.local.near_names import did_you_mean
from holdfast.adapters.local.tables import Head, read_head
from holdfast.adapters.rows.names import BadDataError, BadPartError
from holdfast.adapters.rows.splits import Splits, find_splits
from holdfast.catalog.builtin import BUILTIN, ROWS, builtin_columns
from holdfast.catalog.data.slices import ALL, Slice, parse_slices
from holdfast.catalog.hub.repositories import is_rooted, may_be_repository
from holdfast.core.check.facts import Dataset
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.job.methods import Method

if TYPE_CHECKING:  # for the type alone: pydantic takes longer to import than a script to check
    from holdfast.core.job_file.data import Data

COUNTED_FILES: Final = 8
"""Files of a split whose rows are counted at most: each takes some hundredths of a second."""


class LocalDatasets:
    """Datasets on this machine."""

    def __init__(self, folder: Path = Path()) -> None:
        """Take the folder that relative paths start from."""
        self._folder = folder

    def fetch(self, data: "Data", method: Method) -> Dataset:
        """Return the known facts about a dataset; if it is certainly unreadable, the reason.

        Raises:
            SourceError: Nothing can be said of it.
        """
        if data.path.startswith(BUILTIN):
            return _or_problem(lambda: _builtin(data, method), data.path)
        return self.read(data.path, data.config, data.split, data.eval_split)

    def read(self, name: str, config: str | None, split: str, eval_split: str | None = None) -> Dataset:
        """Return the known facts about the splits of the data of some name; if it is certainly unreadable, the reason.

        Raises:
            SourceError: Nothing can be said of it.
        """
        return _or_problem(lambda: self._read(name, config, split, eval_split), name)

    def _read(self, name: str, config: str | None, split: str, eval_split: str | None) -> Dataset:
        path = self._folder / expanded(name)
        if not is_there(path):
            raise _absent(name, path)
        splits = {"train": [path]} if path.is_file() else find_splits(path, config)
        train = head_of(splits, split, path)
        check_alike(splits, path)
        evaluation = head_of(splits, eval_split, path) if eval_split else None
        return Dataset(
            columns=train.columns,
            rows=train.rows,
            eval_columns=evaluation.columns if evaluation else None,
            eval_rows=evaluation.rows if evaluation else None,
            types=train.types,
        )


def _or_problem(read: Callable[[], Dataset], name: str) -> Dataset:
    """Return the facts, or what makes the data of some name unreadable.

    Raises:
        SourceError: The system does not let us read it.
    """
    try:
        return read()
    except BadPartError as error:
        return Dataset(problem=error.what, absent_part=error.part)
    except BadDataError as error:
        return Dataset(problem=error.what)
    except OSError as error:
        raise unreadable_data(error, name) from error


def unreadable_data(error: OSError, path: str) -> SourceError:
    """Return the error for data at a path that the system does not let us read."""
    what = f"{error.filename or path} cannot be read: {error.strerror}"
    return SourceError(what, where="dataset.path", fix="name a folder of data that you may read")


def find_part(folder: Path, name: str, config: str | None, split: str | None) -> Dataset:
    """A split of the data of some name in a folder; the first one where no split is requested.

    Raises:
        SourceError: Nothing can be said of it.
    """
    path = folder / name
    wanted = split or ("train" if path.is_file() else _first_split(path))
    return LocalDatasets(folder).read(name, config, wanted)


def _first_split(path: Path) -> str:
    """The first split of a folder; `train` where its files are at fault, which is then reported of that one."""
    try:
        return next(iter(find_splits(path)))
    except SourceError:
        return "train"


def head_of(splits: Splits, split: str, path: Path) -> Head:
    """Return the head of a split: the columns of its first file, and its rows if there are few files."""
    wanted = [part.split for part in _slices_of(split, path)]
    missing = [name for name in wanted if name not in splits and name != ALL]
    if missing:
        raise BadPartError(f"{path} has no split `{missing[0]}`; it has {', '.join(splits)}", path, split)
    files = splits.get(wanted[0]) or next(iter(splits.values()))
    head = read_head(files[0])
    whole = len(files) <= COUNTED_FILES and [split] == wanted and split in splits
    return replace(head, rows=_count(head, files[1:]) if whole else None)


def _count(head: Head, others: Sequence[Path]) -> int | None:
    """Return the number of rows of several files, given the head of the first; None where counting would take long."""
    try:
        counts = [head.rows, *(read_head(file).rows for file in others)]
    except SourceError:  # an empty file among others does no harm
        return None
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _slices_of(split: str, path: Path) -> tuple[Slice, ...]:
    try:
        return parse_slices(split)
    except UsageError as error:
        raise BadPartError(f"{path}: {error.what}", path, split) from error


def check_alike(splits: Splits, path: Path) -> None:
    """Refuse a folder where another split has columns that the training split lacks, as `load_dataset` does.

    It reads all splits, asked for or not, into the columns of the first; what is missing there becomes null.
    """
    if "train" not in splits:
        return
    known = read_head(splits["train"][0]).columns
    for split, files in splits.items():
        strange = [column for column in read_head(files[0]).columns if column not in known]
        if strange:
            raise BadDataError(f"{path}: split `{split}` has columns that `train` lacks: {', '.join(strange)}", path)


def _builtin(data: "Data", method: Method) -> Dataset:
    types, path = builtin_columns(data.path, data.config, method), Path(data.path)
    columns = tuple(types)
    if not columns:
        what = f"holdfast makes no dataset {data.path} {data.config or ''}".rstrip()
        raise BadPartError(what, path, data.config or "")
    for split in filter(None, (data.split, data.eval_split)):
        if split not in ROWS:
            raise BadPartError(f"{data.path} has no split `{split}`; it has {', '.join(ROWS)}", path, split)
    evaluation = data.eval_split
    return Dataset(
        columns=columns,
        rows=ROWS[data.split],
        types=types,
        eval_columns=columns if evaluation else None,
        eval_rows=ROWS[evaluation] if evaluation else None,
    )


def _absent(name: str, path: Path) -> SourceError:
    """Return the error for a path that does not exist: it may be a Hub id, unless no Hub id can look like that."""
    if not may_be_repository(name):
        where = "" if is_rooted(name) else " beside the job file or in the working directory"
        return BadDataError(f"no such file or folder{where}: {name}{did_you_mean(path, name)}", path)
    return SourceError(f"{name} is not a local path", where=name, fix="download it into a file")
