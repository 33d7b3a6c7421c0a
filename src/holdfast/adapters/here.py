"""What a job names and what lies on this machine: data, models, adapters.

Covered: folders and files under the working directory or beside the script, as libraries find them before they ask the Hub.
Not covered: caches of the Hub; folders of which single files are named.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from holdfast.catalog.builtin import MODELS
from holdfast.core.errors import SourceError
from holdfast.core.facts import Dataset, Model
from holdfast.core.mention import Mention


class LocalHere:
    """Some folders of this machine. What reads data or models is imported where there is any to read."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Take the folders that relative names start from, the first that has a name counts."""
        self._folders = tuple(dict.fromkeys(folder.absolute() for folder in folders))

    def holds(self, name: str) -> bool:
        """Return whether there is anything of that name here."""
        return self._find(name) is not None

    def dataset(self, mention: Mention) -> Dataset | None:
        """Return what is known of data here, None where it is not here.

        Raises:
            SourceError: It is here, and nobody can say what it is.
        """
        folder = self._find(mention.name)
        if folder is None:
            return None
        if mention.files:
            raise SourceError("files of a folder are named one by one", where=mention.name, fix="nothing is to be done")
        datasets, job = import_module("holdfast.adapters.datasets"), import_module("holdfast.core.job")
        splits = import_module("holdfast.adapters.rows.splits")
        path = folder / mention.name
        split = mention.split or ("train" if path.is_file() else _first_split(splits.find_splits, path))
        data = job.Data(path=mention.name, config=mention.config, split=split)
        found: Dataset = datasets.LocalDatasets(folder).fetch(data, job.Method.SFT)
        return found

    def model(self, mention: Mention) -> Model | None:
        """Return what is known of a model, adapter or tokenizer here, None where it is not here.

        Raises:
            SourceError: Its folder cannot be read.
        """
        folder = self._find(mention.name)
        if folder is None:
            return None
        found: Model | None = import_module("holdfast.adapters.models").LocalModels(folder).find(mention.name)
        return found

    def tensors(self, mention: Mention) -> frozenset[str] | None:
        """Return the names of the weights of a model here, None where it is not here.

        Raises:
            SourceError: They are not known.
        """
        folder = self._find(mention.name)
        if folder is None:
            return None
        found: frozenset[str] = import_module("holdfast.adapters.models").LocalModels(folder).tensors(mention.name)
        return found

    def _find(self, name: str) -> Path | None:
        """Return the folder in which there is something of that name; what holdfast makes itself is everywhere."""
        if name in MODELS:
            return Path()
        try:
            return next((folder for folder in self._folders if (folder / name).exists()), None)
        except (OSError, ValueError):  # of a name that no file system would take
            return None


def _first_split(find_splits: object, path: Path) -> str:
    """Return the split that data has for certain, where none is asked for: what is wrong with the files is told of that."""
    try:
        splits: dict[str, object] = find_splits(path)  # type: ignore[operator]
    except SourceError:
        return "train"
    return next(iter(splits))
