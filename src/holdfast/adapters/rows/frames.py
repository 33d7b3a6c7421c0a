"""Frames of polars from JSON: one type of column to one dtype, and what polars would pass over in silence."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import polars as pl
from polars.exceptions import PolarsError

from holdfast.adapters.rows.json_text import has_deep_line, has_half_characters
from holdfast.adapters.rows.pieces import Columns
from holdfast.adapters.rows.types import type_of_dtype
from holdfast.core.rows.columns import NULL, ListOf, Scalar, Struct, Type

DTYPES: Final[Mapping[str, Any]] = {
    "string": pl.String,
    "time": pl.String,  # what JSON and CSV have of it
    "json": pl.String,
    "integer": pl.Int64,
    "float": pl.Float64,
    "boolean": pl.Boolean,
    "null": pl.Null,
    "binary": pl.Binary,
}
# What polars makes texts of, without a word, where the column is one of texts: numbers, truth values, lists, objects.
NOT_TEXT: Final = r"^(?:-?\d|true$|false$|\[|\{)"
NAMELESS: Final = ""
"""Name of a Series while its values are looked at: methods of polars take names such as `*` and `^a.*$` for patterns."""
# A name that has one spelling in JSON.
PLAIN: Final = re.compile(r"[\w-]+", re.ASCII)


def dtype_of(kind: Type) -> Any:
    """Return the polars dtype of the columns of a type that come from JSON or CSV."""
    match kind:
        case ListOf(of):
            return pl.List(dtype_of(of))
        case Struct(fields):
            return pl.Struct({name: dtype_of(part) for name, part in fields.items()})
        case Scalar(word):
            return DTYPES.get(word, pl.String)


def schema_of(columns: Columns) -> dict[str, Any]:
    """Return the polars schema of columns that come from JSON or CSV."""
    return {name: dtype_of(kind) for name, kind in columns.items()}


def frame_of(rows: Sequence[Mapping[str, Any]], columns: Columns) -> Any:
    """Return a frame of rows that fit its columns."""
    schema = schema_of(columns)
    return pl.DataFrame({name: pl.Series(name, [row[name] for row in rows], dtype) for name, dtype in schema.items()})


def frame_of_lines(lines: bytes, columns: Columns) -> tuple[Any | None, bool]:
    """Return a frame of JSON Lines, if polars can read them, and whether nothing in them is lost in it.

    Polars passes over keys that it is not asked for, makes texts of whatever stands in a column of texts, and a NUL of half
    a character. Each of these is looked for; where a frame comes back, only the second may be.
    """
    if has_half_characters(lines) or has_deep_line(lines):
        return None, False
    try:
        found = pl.scan_ndjson(io.BytesIO(lines), infer_schema_length=None).collect_schema()
        if not _fits(Struct({name: type_of_dtype(dtype) for name, dtype in found.items()}), Struct(columns)):
            return None, False
        frame = pl.read_ndjson(io.BytesIO(lines), schema=schema_of(columns))
    except PolarsError:
        return None, False
    return frame, not _may_hide(frame, columns, lines)


def _fits(actual: Type, wanted: Type) -> bool:
    """True if all that polars found has a place in what is wanted."""
    match actual, wanted:
        case (Scalar("null"), _) | (_, Scalar("json")):
            return True
        case ListOf(inner), ListOf(of):
            return _fits(inner, of)
        case Struct(parts), Struct(fields):
            return all(name in fields and _fits(part, fields[name]) for name, part in parts.items())
        case Scalar(word), Scalar(other):
            return word == other or (word, other) in {("integer", "float"), ("string", "time")}
        case _:
            return False


def _may_hide(frame: Any, columns: Columns, lines: bytes) -> bool:
    """True if some value of a column of texts may have been none."""
    return any(
        _is_suspect(leaf, word, key, lines)
        for name, kind in columns.items()
        for leaf, word, key in _texts(frame.get_column(name).alias(NAMELESS), kind, name)
    )


def _is_suspect(leaf: Any, word: str, key: str | None, lines: bytes) -> bool:
    if word == "time":  # each of them is to be looked at
        return bool(leaf.drop_nulls().len())
    if not leaf.str.contains(NOT_TEXT).any():
        return False
    if key is None or not PLAIN.fullmatch(key):
        return True
    return re.search(rb'"%b"\s*:\s*[^"\sn]' % key.encode(), lines) is not None


def _texts(series: Any, kind: Type, key: str | None) -> Iterator[tuple[Any, str, str | None]]:
    """Yield the texts in a column, flat, each with the name that stands before it in JSON, if one does."""
    match kind:
        case ListOf(of) if of != NULL:
            yield from _texts(series.explode(), of, None)
        case Struct(fields):
            parts = series.struct.unnest()
            for name, part in fields.items():
                yield from _texts(parts.get_column(name).alias(NAMELESS), part, name)
        case Scalar(word) if word in {"string", "time"}:
            yield series, word, key
