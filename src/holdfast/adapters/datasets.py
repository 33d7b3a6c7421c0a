"""Datasets: what columns and rows they have.

Covered: files and folders on this machine, as datasets 5.2 finds their splits, and datasets that holdfast makes itself.
Not covered: the Hub, which is not asked yet; folders whose README assigns their files to splits.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from holdfast.adapters.tables import READERS, BadDataError, Head, read_head, suffix_of
from holdfast.catalog.builtin import builtin_columns
from holdfast.core.errors import SourceError, Spot
from holdfast.core.facts import Dataset
from holdfast.core.job import Data
from holdfast.core.methods import Method

BUILTIN = "builtin:"
# The splits that each dataset has which holdfast makes.
BUILTIN_SPLITS = ("train", "test")
# Beginnings that no Hub id has.
LOCAL = ("/", "./", "../", "~")
HUB_ID_PARTS = 2
# Words in the names of folders and files that tell splits apart. Source: `datasets.data_files`, 5.2.
KEYWORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
SHARD = re.compile(r"data/(?P<split>[^/]+)-\d{5}-of-\d{5}[^/]*")
# What `save_to_disk` leaves beside the data; `load_dataset` refuses such a folder.
SAVED = ("state.json", "dataset_dict.json")
ASIDE = {"dataset_info.json", "dataset_infos.json", "config.json", *SAVED}
CONFIGURED = re.compile(r"\A---\n.*?^configs:", re.MULTILINE | re.DOTALL)
# `train[:10%]` and `train+test` are slices and sums of splits.
SPLIT_NAME = re.compile(r"[\w.-]+")

Splits = dict[str, list[Path]]


class LocalDatasets:
    """Datasets on this machine."""

    def __init__(self, folder: Path = Path()) -> None:
        """Take the folder that relative paths start from."""
        self._folder = folder

    def fetch(self, data: Data, method: Method) -> Dataset:
        """Return what is known of a dataset; for one that can surely not be read, why.

        Raises:
            SourceError: Nothing can be said of it.
        """
        try:
            return _builtin(data, method) if data.path.startswith(BUILTIN) else self._local(data)
        except BadDataError as error:
            return Dataset(problem=error.what)

    def _local(self, data: Data) -> Dataset:
        path = self._folder / Path(data.path).expanduser()
        if not path.exists():
            raise _absent(data.path, path)
        splits = {"train": [path]} if path.is_file() else find_splits(path)
        train = _head_of(splits, data.split, path)
        _check_alike(splits, path)
        evaluation = _head_of(splits, data.eval_split, path) if data.eval_split else None
        return Dataset(columns=train.columns, rows=train.rows, eval_columns=evaluation.columns if evaluation else None)


def find_splits(folder: Path) -> Splits:
    """Return the data files of each split of a folder, as `load_dataset` finds them.

    Raises:
        BadDataError: There are none, or the folder was written by `save_to_disk`.
        SourceError: The folder's README says how to read it.
    """
    if any((folder / name).exists() for name in SAVED):
        raise BadDataError(
            f"{folder} was written by `save_to_disk`, which is read otherwise: name a file in it", folder
        )
    readme = folder / "README.md"
    if readme.is_file() and CONFIGURED.match(readme.read_text(encoding="utf-8", errors="replace")):
        raise SourceError("the README assigns its files to splits", where=Spot(str(readme)), fix="name one file")
    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
    found = [name for name in names if _is_data(name)]
    if not found:
        raise BadDataError(f"{folder} holds no data files ({', '.join(sorted(READERS))})", folder)
    return {split: [folder / name for name in names] for split, names in group_by_split(found).items()}


def group_by_split(names: Iterable[str]) -> dict[str, list[str]]:
    """Group the files of a folder by the split that their names speak of; all train where none speaks of any.

    >>> group_by_split(["data/train-00000-of-00001.parquet", "data/test-00000-of-00001.parquet"])
    {'train': ['data/train-00000-of-00001.parquet'], 'test': ['data/test-00000-of-00001.parquet']}
    >>> group_by_split(["my_train.jsonl", "val.jsonl", "notes.jsonl"])
    {'train': ['my_train.jsonl'], 'validation': ['val.jsonl']}
    """
    names = list(names)
    shards: dict[str, list[str]] = {}
    for name in names:
        if shard := SHARD.fullmatch(name):
            shards.setdefault(shard["split"], []).append(name)
    in_folders = _spoken_of({name: name.split("/")[:-1] for name in names})
    in_files = _spoken_of({name: name.split("/")[-1:] for name in names})
    return shards or in_folders or in_files or {"train": names}


def _spoken_of(parts: dict[str, list[str]]) -> dict[str, list[str]]:
    found = {
        split: [name for name, words in parts.items() if any(_speaks_of(word, split) for word in words)]
        for split in KEYWORDS
    }
    return {split: names for split, names in found.items() if names}


def _speaks_of(word: str, split: str) -> bool:
    return bool(re.search(rf"(?:^|[-._ 0-9])(?:{'|'.join(KEYWORDS[split])})(?:$|[-._ 0-9])", word))


def _is_data(name: str) -> bool:
    path = Path(name)
    hidden = any(part.startswith((".", "__")) for part in path.parts)
    return not hidden and path.name not in ASIDE and suffix_of(path) in READERS


def _head_of(splits: Splits, split: str, path: Path) -> Head:
    """Return the head of a split: the columns of its first file, and its rows if it is the only one."""
    asked = SPLIT_NAME.match(split)
    files = splits.get(asked[0] if asked else split)
    if files is None:
        raise BadDataError(f"{path} has no split `{split}`; it has {', '.join(splits)}", path)
    if suffix_of(files[0]) not in READERS:
        raise BadDataError(f"{path} is of no known kind: use {', '.join(sorted(READERS))}", path)
    head = read_head(files[0])
    whole = len(files) == 1 and asked is not None and asked[0] == split
    return head if whole else Head(head.columns, None)


def _check_alike(splits: Splits, path: Path) -> None:
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


def _builtin(data: Data, method: Method) -> Dataset:
    columns, path = builtin_columns(data.path, data.config, method), Path(data.path)
    if not columns:
        raise BadDataError(f"holdfast makes no dataset {data.path} {data.config or ''}".rstrip(), path)
    for split in filter(None, (data.split, data.eval_split)):
        if split not in BUILTIN_SPLITS:
            raise BadDataError(f"{data.path} has no split `{split}`; it has {', '.join(BUILTIN_SPLITS)}", path)
    return Dataset(columns=columns, eval_columns=columns if data.eval_split else None)


def _absent(name: str, path: Path) -> SourceError:
    """Return what to say of a path that is not there: it may be a Hub id, unless no Hub id looks like that."""
    is_path = name.startswith(LOCAL) or suffix_of(path) in READERS or len(Path(name).parts) > HUB_ID_PARTS
    if is_path:
        return BadDataError(f"no such file or folder: {name}", path)
    return SourceError("datasets of the Hub are not looked up yet", where=name, fix="download it into a file")
