"""Rows that are known to be good, in place of the script's own: if all goes well then, it is the rows' fault."""

import json
import math
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ..events import EventWriter
from ..wrapping import wrap
from .asking import calling_line, is_called_by_script
from .bounds import files_of
from .noting import MADE
from .part import as_part

SPLITS = ("train", "validation", "test")  # where it is not known what splits there are


class KnownRows:
    """Gives the rows of a JSON Lines file for every split of every dataset.

    What line 12 of the script asks for is given of `NAME-12.jsonl` beside `NAME.jsonl`, if that is there; the types of its
    columns are those in `NAME-12.features.json`, if that is.
    """

    def __init__(self, path: str, events: EventWriter) -> None:
        self._path, self._events = Path(path), events

    def install(self, module: Any) -> None:
        """Have all builders give these rows."""
        self._module = module
        wrap(module.load, "load_dataset_builder", self._build)
        wrap(module.DatasetBuilder, "download_and_prepare", lambda _original, *_, **__: None)
        wrap(module.DatasetBuilder, "as_dataset", self._read)
        wrap(module.DatasetBuilder, "as_streaming_dataset", self._stream)
        self._from_list = module.Dataset.from_list
        for name in MADE:
            wrap(module.Dataset, name, self._made)

    def rows(self) -> Any:
        """Return a dataset of them, a part of a whole without end: whatever number is requested is there."""
        line = calling_line()
        path = self._path.with_name(f"{self._path.stem}-{line}.jsonl")
        path = path if path.is_file() else self._path
        with path.open(encoding="utf-8") as file:
            rows = [json.loads(line) for line in file if line.strip()]
        self._events.fact("known_rows", line=line, rows=len(rows))
        return as_part(self._from_list(rows, features=self._features(path.with_suffix(".features.json"))), math.inf)

    def _features(self, path: Path) -> Any:
        """Return the types of columns that a file tells, or None."""
        return self._module.Features.from_dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None

    def _share(self, number: int, count: int) -> Any:
        rows = self.rows()
        return as_part(rows.select(range(number, len(rows), count)), math.inf) if len(rows) >= count else rows

    def of_split(self, split: Any, names: Any = SPLITS) -> Any:
        """Return a dataset for each split that was requested, in the shape in which they were."""
        if isinstance(split, dict) or split is None:
            several = list(split or names)  # each gets rows of its own: one that is evaluated on is not trained on
            given = {name: self._share(number, len(several)) for number, name in enumerate(several)}
            return self._module.DatasetDict(given)
        if isinstance(split, (list, tuple)):
            return type(split)(self.of_split(one) for one in split)
        return self.rows()

    def of_folder(self, path: Any) -> Any:
        """Return the replacement for a folder that `save_to_disk` wrote."""
        several = Path(str(path), "dataset_dict.json")
        if several.exists():
            return self.of_split(None, json.loads(several.read_text(encoding="utf-8"))["splits"])
        return self.rows()

    def _made(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return these rows where the script makes a dataset; libraries make what they want to."""
        return self.rows() if is_called_by_script() else original(*args, **kwargs)

    def _build(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with suppress(Exception):  # whatever is wrong with the script's own data does not matter now
            return original(*args, **kwargs)
        return _Builder(self)

    def _read(self, _original: Callable[..., Any], builder: Any, split: Any = None, *_: Any, **__: Any) -> Any:
        return self.of_split(split, list(files_of(builder)) or list(builder.info.splits or SPLITS))

    def _stream(self, original: Callable[..., Any], builder: Any, split: Any = None, *_: Any, **__: Any) -> Any:
        found = self._read(original, builder, split)
        if isinstance(found, dict):
            streams = {name: one.to_iterable_dataset() for name, one in found.items()}
            return self._module.IterableDatasetDict(streams)
        return found.to_iterable_dataset()


class _Builder:
    """What `load_dataset` asks of a builder."""

    def __init__(self, rows: KnownRows) -> None:
        self._known = rows
        self.info = SimpleNamespace(dataset_size=None, splits=None)
        self.config = SimpleNamespace(data_files=None)

    def download_and_prepare(self, *_: Any, **__: Any) -> None:
        """Nothing is to be prepared."""

    def as_dataset(self, split: Any = None, **_: Any) -> Any:
        return self._known.of_split(split)

    def as_streaming_dataset(self, split: Any = None, **_: Any) -> Any:
        return self._known._stream(self.as_dataset, self, split)
