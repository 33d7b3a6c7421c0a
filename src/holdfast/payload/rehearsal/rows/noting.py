"""What the script's datasets held as it got them, kept for asking later whose fault a failure is.

One file for each line of the script that asks for rows: what stands in their place then is asked for by the same line.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from ..events import EventWriter
from ..part_request import PartRequest
from ..wrapping import wrap
from .asking import calling_line, is_called_by_script
from .choosing import first_rows
from .mixed import look_at_types

MADE = (
    "from_list",
    "from_dict",
    "from_pandas",
    "from_polars",
    "from_generator",
    "from_json",
    "from_csv",
    "from_parquet",
    "from_text",
)
"""Functions of `datasets.Dataset` that make one."""
FOLDER = "given"
MOST = 200
"""Rows that are kept of each."""
BYTES = 4 << 20
FEW = 16
"""Rows of a stream, which are read for this alone."""


class RowRecorder:
    """Writes down what datasets held."""

    def __init__(self, part_request: PartRequest, events: EventWriter) -> None:
        self._events, self._source = events, part_request.source
        self._folder = Path(part_request.folder, FOLDER)
        self._wanted = part_request.part == "whole" and not part_request.known_rows

    def install(self, module: Any) -> None:
        """Note what the script makes datasets of; what it loads is noted where it is loaded."""
        if self._wanted:
            for name in MADE:
                wrap(module.Dataset, name, self._made)

    def note(self, loaded: Any, record: dict[str, Any], given: Any = None) -> None:
        """Write down what the script got.

        Args:
            loaded: A dataset, or several; None if it could not be loaded.
            record: What the script asked for.
            given: The rows that it would have been made of.
        """
        path = self._folder / f"{calling_line()}.json"
        if not self._wanted or path.exists():
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"rows": None, "features": None, "asked": record}, default=str)
        with suppress(Exception):  # pictures; a row that the script has yet to stumble over
            rows, features = _looked_at(_first(loaded), given)
            text = json.dumps({"rows": rows, "features": features, "asked": record})
            look_at_types(rows or (), features or {}, self._source, self._events)
        path.write_text(text, encoding="utf-8")

    def _made(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not is_called_by_script():
            return original(*args, **kwargs)
        made = None
        try:
            made = original(*args, **kwargs)
        finally:
            rows = next((each for each in args if isinstance(each, list)), None)
            self.note(made, {}, rows)
        return made


def _first(loaded: Any) -> Any:
    while isinstance(loaded, dict | list | tuple) and loaded:
        loaded = next(iter(loaded.values())) if isinstance(loaded, dict) else loaded[0]
    return loaded


def _looked_at(dataset: Any, given: Any) -> tuple[list[Any] | None, Any]:
    """Return the first rows, and what types their columns have, as far as either is known."""
    if dataset is None:
        return (given[:MOST] if given else None), None
    features = dataset.features.to_dict() if dataset.features else None
    if hasattr(dataset, "data"):
        return first_rows(dataset, MOST, BYTES).to_pylist(), features
    return list(islice(iter(dataset.with_format(None)), FEW)), features
