"""Taking the place of what loads datasets, and telling what the script asked for."""

import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..events import EventWriter
from ..part_request import PartRequest
from ..wrapping import replace_everywhere, reporting, when_imported, wrap_everywhere
from . import draws, schedules
from .known import KnownRows
from .loading import BuilderMethods, each_dataset
from .noting import RowRecorder
from .part import install_parts, whole_rows
from .places import SavedDatasets
from .stages import install_stages
from .streams import install_streams
from .working import FunctionRunner

ASKED = ("path", "name", "data_dir", "data_files", "split", "revision", "streaming", "features", "num_proc", "field")


def install(part_request: PartRequest, events: EventWriter) -> None:
    """Have datasets give the script a few of its rows from now on."""
    when_imported("datasets", lambda module: DatasetHooks(part_request, events).install(module))
    draws.install()
    schedules.install(events)


class DatasetHooks:
    """The functions of `datasets` that scripts call."""

    def __init__(self, part_request: PartRequest, events: EventWriter) -> None:
        self._part_request, self._events = part_request, events
        self._places = SavedDatasets(part_request)
        self._loading = BuilderMethods(part_request, events)
        self._noting = RowRecorder(part_request, events)
        self._known = KnownRows(part_request.known_rows, events) if part_request.known_rows else None

    def install(self, module: Any) -> None:
        """Take their place."""
        module.disable_caching()  # what maps is not written beside the user's own files
        combining = {name: getattr(module, name) for name in ("concatenate_datasets", "interleave_datasets")}
        install_parts(module)
        for name, original in combining.items():
            replace_everywhere(name, original, getattr(module, name))
        install_streams(module, self._events)
        FunctionRunner(self._part_request, self._events).install(module)
        self._loading.install(module)
        self._places.install(module)
        self._noting.install(module)
        if self._known:
            self._known.install(module)
        install_stages(module, self._events)
        for name, around in (("load_dataset", self._load), ("load_from_disk", self._load_from_disk)):
            wrap_everywhere(module, name, around)

    def _load(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        arguments = inspect.signature(original).bind(*args, **kwargs).arguments
        config = arguments.pop("config_kwargs", {})
        record = {
            name: _plain(value)
            for name, value in {**arguments, **config}.items()
            if name in ASKED and value is not None
        }
        for name, change in (("path", self._places), ("data_dir", self._places), ("data_files", self._places.files)):
            if arguments.get(name) is not None:
                arguments[name] = change(arguments[name])
        return self._recorded(lambda: original(**arguments, **config), record)

    def _load_from_disk(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        arguments = inspect.signature(original).bind(*args, **kwargs).arguments
        record = {"path": str(arguments["dataset_path"]), "kind": "disk"}
        arguments["dataset_path"] = self._places(arguments["dataset_path"])

        def load() -> Any:
            if self._known:
                return self._known.of_folder(arguments["dataset_path"])
            return each_dataset(original(**arguments), self._loading._trimmed)

        return self._recorded(load, record)

    def _recorded(self, load: Callable[[], Any], record: dict[str, Any]) -> Any:
        """Load, and write the fact of it whether or not it fails."""

        def note_failure(error: Exception) -> None:
            self._events.fact("dataset", **record, error=type(error).__name__)
            self._noting.note(None, record)

        with self._events.during("data"):
            with reporting(note_failure):
                loaded = load()
            self._events.fact("dataset", **record, **described(loaded))
            self._noting.note(loaded, record)
            return loaded


def described(loaded: Any) -> dict[str, Any]:
    """Return rows and columns of what was loaded, by split where it has several."""
    if isinstance(loaded, dict):
        return _described_splits(loaded)
    if isinstance(loaded, (list, tuple)):
        return {"several": [described(one) for one in loaded]}
    rows = whole_rows(loaded) if hasattr(loaded, "__len__") else math.inf
    return {"rows": int(rows) if math.isfinite(rows) else None, "columns": getattr(loaded, "column_names", None)}


def _described_splits(splits: dict[Any, Any]) -> dict[str, Any]:
    each = {str(name): described(one) for name, one in splits.items()}
    return {fact: {name: one.get(fact) for name, one in each.items()} for fact in ("rows", "columns")}


def _plain(value: Any) -> Any:
    """Return an argument as JSON can hold it."""
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, (str, Path)) or len(str(value)) < 1000 else type(value).__name__  # noqa: PLR2004 - longer ones are not worth their space
