"""Datasets that the script saves and loads again: both are redirected into the rehearsal's folder."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..part_request import PartRequest
from ..wrapping import wrap
from .part import as_part, part_of

PART = ".holdfast-part.json"
"""A file beside a dataset that was saved: what it is a part of."""
KERNELS = (("proc",), ("sys",))  # `os.access` says that root may write there; the kernel refuses it


class SavedDatasets:
    """Redirects `save_to_disk` and what loads from there."""

    def __init__(self, part_request: PartRequest) -> None:
        self._part_request = part_request

    def install(self, module: Any) -> None:
        """Take the place of what writes and reads folders of datasets."""
        for owner in (module.Dataset, module.DatasetDict):
            wrap(owner, "save_to_disk", self._save)
            load = owner.load_from_disk
            owner.load_from_disk = staticmethod(self._loading(load))

    def __call__(self, path: Any) -> Any:
        """Return where the script's own file or folder lies, if this rehearsal has written it; else the path."""
        if not isinstance(path, (str, os.PathLike)) or "://" in str(path):
            return path
        target = self._redirected(str(path))
        known = target.exists() or ("*" in str(path) and any(self._found(target)))
        return str(target) if known else path

    def files(self, given: Any) -> Any:
        """Return `data_files` with those that this rehearsal has written in their place."""
        if type(given) is dict:
            return {name: self.files(one) for name, one in given.items()}
        if isinstance(given, (list, tuple)):
            return [self.files(one) for one in given]
        return self(given)

    def _found(self, pattern: Path) -> Any:
        fixed = next(parent for parent in pattern.parents if "*" not in str(parent))
        return fixed.glob(str(pattern.relative_to(fixed)))

    def _redirected(self, path: str) -> Path:
        absolute = Path(path).expanduser().absolute()
        inside = Path(self._part_request.folder).absolute()
        if absolute.is_relative_to(inside):
            return absolute
        return Path(self._part_request.inside, *absolute.parts[1:]).absolute()

    def _save(self, original: Callable[..., Any], dataset: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        if "://" in str(path) or not _writable(Path(str(path)).expanduser().absolute()):
            return original(dataset, path, *args, **kwargs)  # which fails, as it would
        target = self._redirected(str(path))
        saved = original(dataset, str(target), *args, **kwargs)
        if part := part_of(dataset):  # for whoever reads it, in another process too
            (target / PART).write_text(json.dumps({"whole": part.whole, "mixed": part.mixed}))
        else:
            (target / PART).unlink(missing_ok=True)
        return saved

    def _loading(self, load: Callable[..., Any]) -> Callable[..., Any]:
        def load_from_disk(dataset_path: Any, *args: Any, **kwargs: Any) -> Any:
            loaded = load(place := self(dataset_path), *args, **kwargs)
            part = Path(str(place), PART)
            return as_part(loaded, **json.loads(part.read_text())) if part.is_file() else loaded

        return load_from_disk


def _writable(path: Path) -> bool:
    """True if a folder could be made or written there."""
    there = next(parent for parent in (path, *path.parents) if parent.exists())
    return there.is_dir() and os.access(there, os.W_OK) and there.parts[1:2] not in KERNELS
