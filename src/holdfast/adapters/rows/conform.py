"""Putting frames that have types of their own into the columns of the first file, as `datasets` casts tables.

Source: `datasets.table.cast_table_to_schema`, 5.2. Tried: `tests/adapters/rows/test_rows_tables.py` runs both.
"""

from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from holdfast.adapters.rows.fit import MisfitError
from holdfast.adapters.rows.frames import DTYPES, dtype_of
from holdfast.adapters.rows.pieces import Columns
from holdfast.core.rows.columns import ListOf, Scalar, Struct, Type

# datasets writes columns of type `json` so. What polars does not know it would keep under a name, where nothing works on it.
if hasattr(pl, "register_extension_type"):
    pl.register_extension_type("arrow.json", as_storage=True)


def conform(frame: Any, actual: Columns, wanted: Columns) -> Any:
    """Return a frame with the wanted columns, each with the one dtype that its type has here.

    Args:
        frame: What was read.
        actual: Types of its columns.
        wanted: Types of those of the first file. What is not there becomes null.

    Raises:
        MisfitError: A column is not among them, or cannot be cast.
    """
    for name in frame.columns:
        if name not in wanted:
            raise MisfitError(name, "is a column that the first file does not have")
    return pl.DataFrame(
        [
            _series(frame[name], name, actual[name], kind) if name in actual else _nulls(name, frame.height)
            for name, kind in wanted.items()
        ]
    )


def _nulls(name: str, height: int) -> Any:
    return pl.Series(name, [None] * height, dtype=pl.Null)


def _series(series: Any, name: str, actual: Type, wanted: Type) -> Any:
    if not castable(actual, wanted):
        raise MisfitError(name, f"is {actual} here, and {wanted} in the first file")
    stored = _stored(series)
    target = widest(stored.dtype)
    try:
        wide = stored.cast(target)
        if actual == wanted:
            return wide
        # Only a cast that is not strict puts keys in order and adds those that are missing; so it changes no value.
        shaped = wide.cast(_reshaped(wanted, target), strict=False)
        cast = shaped.cast(_dtype_like(wanted, shaped.dtype))
    except PolarsError as error:
        raise MisfitError(name, f"is {actual} here, and {wanted} in the first file") from error
    if _narrows(actual, wanted) and not cast.cast(shaped.dtype).equals(shaped):
        raise MisfitError(name, f"has fractions here, and is {wanted} in the first file")
    return cast


def _stored(series: Any) -> Any:
    """Return a column of an extension type as what it stores."""
    return series.ext.storage() if hasattr(series.dtype, "ext_storage") else series


def _narrows(actual: Type, wanted: Type) -> bool:
    """True if numbers lose their fractions somewhere."""
    match actual, wanted:
        case ListOf(inner), ListOf(of):
            return _narrows(inner, of)
        case Struct(parts), Struct(fields):
            return any(_narrows(part, fields[name]) for name, part in parts.items())
        case Scalar(word), Scalar(other):
            return (word, other) == ("float", "integer")
        case _:
            return False


def castable(actual: Type, wanted: Type) -> bool:
    """True if `datasets` would try to cast one type to the other."""
    match actual, wanted:
        case Scalar("null"), _:
            return True
        case ListOf(inner), ListOf(of):
            return castable(inner, of)
        case Struct(parts), Struct(fields):
            return all(name in fields and castable(part, fields[name]) for name, part in parts.items())
        case Scalar(word), Scalar(other):
            return word == other or other != "null"
        case _:
            return False


def widest(dtype: Any) -> Any:
    """Return a dtype with its integers and floats widened, and extensions as what they store."""
    match dtype:
        case pl.List() | pl.Array():
            return pl.List(widest(dtype.inner))
        case pl.Struct():
            return pl.Struct({part.name: widest(part.dtype) for part in dtype.fields})
        case _:
            return _widest_scalar(dtype)


def _widest_scalar(dtype: Any) -> Any:
    if dtype.is_integer():
        return pl.Int64 if dtype != pl.UInt64 else pl.UInt64
    if dtype.is_float() or dtype.is_decimal():
        return pl.Float64
    return pl.String if dtype in (pl.Categorical, pl.Enum) else dtype


def _reshaped(wanted: Type, dtype: Any) -> Any:
    """Return a dtype with the keys that are wanted, in their order."""
    match wanted, dtype:
        case ListOf(of), pl.List():
            return pl.List(_reshaped(of, dtype.inner))
        case Struct(fields), pl.Struct():
            have = {part.name: part.dtype for part in dtype.fields}
            return pl.Struct(
                {name: _reshaped(part, have[name]) if name in have else dtype_of(part) for name, part in fields.items()}
            )
        case _:
            return dtype


def _dtype_like(wanted: Type, dtype: Any) -> Any:
    """Return the dtype of a type; of one that JSON does not have, what is there."""
    match wanted, dtype:
        case ListOf(of), pl.List():
            return pl.List(_dtype_like(of, dtype.inner))
        case Struct(fields), pl.Struct():
            return pl.Struct({part.name: _dtype_like(fields[part.name], part.dtype) for part in dtype.fields})
        case (ListOf(), _) | (Struct(), _):  # of nothing but null
            return dtype_of(wanted)
        case Scalar(word), _ if word not in ("time", "other"):
            return DTYPES.get(word, dtype)
        case _:
            return dtype
