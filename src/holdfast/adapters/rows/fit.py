"""Putting one row into columns whose types are decided, as `datasets` casts what comes after its first 10 MB.

Source: `datasets.table.cast_table_to_schema`, `datasets.packaged_modules.json`, 5.2. Tried: `tests/adapters/rows/test_rows_json.py`
runs both.
"""

import json
import math
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from holdfast.adapters.rows.guess import LARGEST_INTEGER, TIME
from holdfast.adapters.rows.json_text import NO_ROW
from holdfast.core.rows.columns import ListOf, Scalar, Struct, Type

JSON: Final = Scalar("json")
INTEGER = re.compile(r"\s*-?\d+\s*")


STOPS: Final = "`load_dataset` stops"
MIXES: Final = "`load_dataset` stops, or turns it and the texts around it into JSON"
"""Tried: it stops where a part of 10 MB has lists alone; where there are texts too, pandas reads it, and all become JSON."""


class MisfitError(Exception):
    """A value that `datasets` cannot put into its column.

    Attributes:
        path: Where in the row it is: `messages[].content`.
        what: What is wrong with it.
        then: What `load_dataset` does.
    """

    def __init__(self, path: str, what: str, then: str = STOPS) -> None:
        super().__init__(f"`{path}` {what}" if path else what)
        self.path, self.what, self.then = path, what, then


def fit_row(row: Any, columns: Mapping[str, Type], notes: list[str]) -> dict[str, Any]:
    """Return a row with all columns, each value of its type; a row that is null has only nulls.

    Args:
        row: As JSON has it.
        columns: The types that are decided.
        notes: Takes what was changed in a way that nobody wants.

    Raises:
        MisfitError: The row does not fit.
    """
    if row is None:
        return dict.fromkeys(columns)
    if not isinstance(row, dict):
        raise MisfitError("", NO_ROW.format(row))
    for name in row:
        if name not in columns:
            raise MisfitError(name, "is a column that the first rows do not have")
    return {name: fit(row.get(name), kind, name, notes) for name, kind in columns.items()}


def fit(value: Any, kind: Type, path: str, notes: list[str]) -> Any:
    """Return a value as its column holds it; of type `json` a text, unless it is one, its JSON.

    NaN and Infinity are null where the column holds no numbers: `datasets` 5.2 reads them so.
    """
    if value is None or (kind == JSON and _is_no_number(value)):
        return None
    match kind:
        case ListOf(of):
            return _fit_list(value, of, path, notes)
        case Struct(fields):
            return _fit_struct(value, fields, path, notes)
        case _:
            return _fit_scalar(value, kind, path, notes)


def _fit_list(value: Any, of: Type, path: str, notes: list[str]) -> list[Any]:
    if isinstance(value, list):
        return [fit(element, of, f"{path}[]", notes) for element in value]
    if of == JSON and not isinstance(value, dict):
        notes.append(f"`{path}` is {_kind_of(value)} here and a list before: it becomes a list with one element")
        return [fit(value, of, f"{path}[]", notes)]
    raise MisfitError(path, f"is {_kind_of(value)} here, and a list in the first rows")


def _fit_struct(value: Any, fields: Mapping[str, Type], path: str, notes: list[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MisfitError(path, f"is {_kind_of(value)} here, and an object in the first rows")
    for name in value:
        if name not in fields:
            raise MisfitError(f"{path}.{name}", "is a key that the first rows do not have")
    return {name: fit(value.get(name), part, f"{path}.{name}", notes) for name, part in fields.items()}


def _fit_scalar(value: Any, kind: Scalar, path: str, notes: list[str]) -> Any:
    if kind.word == "json":
        return value if isinstance(value, str) else as_json(value)
    if kind.word == "string":
        return _fit_text(value, path, notes)
    fitted = _CASTS[kind.word](value) if kind.word in _CASTS else None
    if fitted is None:
        shown = f" ({value!r:.40})" if isinstance(value, str | int | float) else ""
        raise MisfitError(path, f"is {_kind_of(value)} here{shown}, and {_NAMES[kind.word]} in the first rows")
    return fitted


def _fit_text(value: Any, path: str, notes: list[str]) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        raise MisfitError(path, "is a list here, and text in the first rows", MIXES)
    notes.append(
        f"`{path}` is {_kind_of(value)} here, and text in the first rows: it becomes text, perhaps others with it"
    )
    return as_json(value)


def _integer(value: Any) -> int | None:
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) <= LARGEST_INTEGER
        return int(value) if whole else None
    if isinstance(value, str):
        return int(value) if INTEGER.fullmatch(value) else None
    return int(value) if isinstance(value, int) and abs(value) <= LARGEST_INTEGER else None


def _real(value: Any) -> float | None:
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return math.copysign(math.inf, 1 if value > 0 else -1)
    try:
        return float(value) if isinstance(value, int | float | str) else None
    except ValueError:
        return None


def _truth(value: Any) -> bool | None:
    return bool(value) if isinstance(value, int) else None


def _time(value: Any) -> str | None:
    return value if isinstance(value, str) and TIME.fullmatch(value) else None


_CASTS: Mapping[str, Callable[[Any], Any]] = {"integer": _integer, "float": _real, "boolean": _truth, "time": _time}


def as_json(value: Any) -> str:
    """Return a value's JSON as polars writes it, with a blank behind each comma and colon; NaN and Infinity are null."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_without_nan(value), ensure_ascii=False)


def _is_no_number(value: Any) -> bool:
    """True if a value is NaN or Infinity, which JSON does not have and Python's parser reads."""
    return isinstance(value, float) and not math.isfinite(value)


def _without_nan(value: Any) -> Any:
    match value:
        case dict():
            return {name: _without_nan(part) for name, part in value.items()}
        case list():
            return [_without_nan(part) for part in value]
        case _:
            return None if _is_no_number(value) else value


_NAMES = {
    "integer": "an integer",
    "float": "a number",
    "boolean": "true or false",
    "time": "a time",
    "null": "only null",
}


def _kind_of(value: Any) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case str():
            return "text"
        case bool():
            return "true or false"
        case _:
            return "a number"
