"""What a job names and what lies on this machine: data, models, adapters.

Covered: folders and files under the working directory or beside the script, as libraries find them before they ask the Hub.
Not covered: caches of the Hub; folders of which single files are named.
"""

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from holdfast.adapters.foreign_files import expanded
from holdfast.adapters.local.file_patterns import WILD, found_in
from holdfast.catalog.builtin import BUILTIN, MODELS
from holdfast.catalog.hub.repositories import is_path, is_rooted
from holdfast.core.check.facts import Dataset, ModelFacts
from holdfast.core.check.reference import Reference
from holdfast.core.errors import SourceError
from holdfast.core.text.nearest import nearest

if TYPE_CHECKING:
    from holdfast.adapters.local.models import LocalModels  # for the type alone: what reads models takes long to import

CHECKPOINT: Final = re.compile(r"checkpoint-([0-9]{1,12})")
OF_CHECKPOINTS: Final = (
    "trainer_state.json",
    "*.safetensors",
    "*.bin",
    "*.index.json",
    "config.json",
    "adapter_config.json",
)
"""Files of which a checkpoint has one at least."""


class LocalFolders:
    """Some folders of this machine. What reads data or models is imported where there is any to read."""

    def __init__(self, folders: Sequence[Path], *, walked: bool) -> None:
        """Take the folders that relative names start from, the first that has a name counts.

        Args:
            folders: The folders.
            walked: Whether the names are those of a file that was found in a folder: where it is started is not known.
        """
        self._walked = walked
        self._folders = tuple(dict.fromkeys(folder.absolute() for folder in folders))

    def holds(self, name: str) -> bool:
        """True if there is anything of that name here."""
        return self._find(name) is not None

    def nearest(self, name: str) -> str:
        """Return the name of a file or folder here that is most like another; empty if none is."""
        wanted = expanded(name)
        folders = [folder / wanted.parent for folder in self._folders]
        here = [each.name for folder in folders if folder.is_dir() for each in folder.iterdir()]
        near = nearest(wanted.name, tuple(sorted(here)))
        return str(Path(name).with_name(near)) if near else ""

    def path(self, name: str) -> Path | None:
        """Return the path of what has that name here; None if nothing has."""
        folder = self._find(name)
        return folder / expanded(name) if folder is not None else None

    def has_all(self, reference: Reference) -> bool:
        """True if everything that is mentioned is here: of data that is read from files, each of them."""
        names = reference.read.names if reference.read else (reference.name,)
        return all(name.startswith(BUILTIN) or _lies_in(self._start(names), name) for name in names)

    def elsewhere(self, reference: Reference) -> str:
        """Return why it is not known whether something that is not found here exists; empty if it is known."""
        if not self._walked or is_rooted(reference.name) or self.has_all(reference):
            return ""
        return f"`{reference.name}` is neither in the working directory nor beside the file, which may be started elsewhere"

    def doubt(self, reference: Reference) -> str:
        """Return why what is not here may be there when the job runs; empty if it runs where names start from."""
        name = reference.name
        if is_rooted(name):
            return "on this machine; it may be where the job runs"
        if len(self._folders) != 1:
            return "neither in the working directory nor beside the script"
        first, inside, _ = name.partition("/")
        return (
            ""
            if not inside or is_path(name) or reference.read or _lies_in(self._folders[0], first)
            else f"nor is there a folder `{first}`"
        )

    def newest_checkpoint(self, name: str) -> str:
        """Return the newest checkpoint in a folder that holds checkpoints, and is none itself; empty for any other."""
        folder = self._start([name]) / name
        if not _lies_in(folder, "checkpoint-*/*") or any(_lies_in(folder, each) for each in OF_CHECKPOINTS):
            return ""
        steps = [int(found[1]) for path in folder.iterdir() if (found := CHECKPOINT.fullmatch(path.name))]
        return f"{name.rstrip('/')}/checkpoint-{max(steps)}" if steps else ""

    def dataset(self, reference: Reference) -> Dataset | None:
        """Return the facts about local data; None if it is not local.

        Raises:
            SourceError: It is here, and nobody can say what it is.
        """
        if reference.read is not None:
            from holdfast.adapters.local import data as data_here

            return data_here.read_data(self._start(reference.read.names), reference)
        folder = self._find(reference.name)
        if folder is None:
            return None
        if reference.files:
            raise SourceError("files of a folder are named one by one", where=reference.name, fix="nothing to do")
        from holdfast.adapters.local.datasets import find_part

        return find_part(folder, reference.name, reference.config, reference.split)

    def model(self, reference: Reference) -> ModelFacts | None:
        """Return the facts about a local model, adapter or tokenizer; None if it is not local.

        Raises:
            SourceError: Its folder cannot be read.
        """
        models = self._models(reference.name)
        return models.find(reference.name) if models else None

    def tensors(self, reference: Reference) -> frozenset[str] | None:
        """Return the names of the weights of a model here, None if it is not here.

        Raises:
            SourceError: They are not known.
        """
        models = self._models(reference.name)
        return models.tensors(reference.name) if models else None

    def absent_tokens(self, reference: Reference, tokens: Collection[str]) -> frozenset[str] | None:
        """Return those of some tokens that the vocabulary of a model here surely lacks; None if it is not here.

        Raises:
            SourceError: Its vocabulary cannot be read.
        """
        models = self._models(reference.name)
        return models.absent_tokens(reference.name, tokens) if models else None

    def _models(self, name: str) -> "LocalModels | None":
        """The models of the folder that has one of this name; None if none has."""
        folder = self._find(name)
        if folder is None:
            return None
        from holdfast.adapters.local.models import LocalModels

        return LocalModels(folder)

    def _start(self, names: Sequence[str]) -> Path:
        """Return the folder that names start from: the first that has all of them, else the first."""
        whole = (folder for folder in self._folders if all(_lies_in(folder, name) for name in names))
        return next(whole, next(iter(self._folders), Path()))

    def _find(self, name: str) -> Path | None:
        """Return the folder in which there is something of that name; what holdfast makes itself is everywhere."""
        if name in MODELS:
            return Path()
        return next((folder for folder in self._folders if _lies_in(folder, name)), None)


def start_of(folders: Sequence[Path], names: Sequence[str]) -> Path:
    """Return the first folder in which one of some names lies; the first one where none has any."""
    return next((folder for folder in folders if any(_lies_in(folder, name) for name in names)), folders[0])


def _lies_in(folder: Path, name: str) -> bool:
    """True if a folder has something of a name, or of a pattern."""
    try:
        path = folder / expanded(name)
        return path.exists() or (bool(WILD.intersection(name)) and any(found_in(folder, name)))
    except (OSError, ValueError, RuntimeError, NotImplementedError):  # of a name that no file system would take
        return False
