"""Rows as a mapping makes them, which was written and tried here."""

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from holdfast.catalog.formats import types_of_rows
from holdfast.core.rows.columns import scalars_of
from holdfast.core.rows.unpacking import unpack_rows
from holdfast.ports import Batch, Rows

Row = dict[str, Any]


def map_rows(rows: Iterable[Mapping[str, Any]], source: str) -> Iterator[Row]:
    """Yield the rows that a mapping returns; those that it does not keep, and those for which it raises, are left out.

    Args:
        rows: The rows.
        source: The module with its function `rewrite`, and `keep` where it leaves out rows.
    """
    for row in map_each(rows, source):
        if row is not None:
            yield row


def map_each(rows: Iterable[Mapping[str, Any]], source: str) -> Iterator[Row | None]:
    """Yield for each row what a mapping makes of it; None if it leaves it out."""
    module: dict[str, Any] = {}
    exec(compile(source, "mapping.py", "exec"), module)  # noqa: S102 - written here from names of columns, as literals
    for row in rows:
        if "keep" in module and not module["keep"](row):
            yield None
            continue
        try:
            yield module["rewrite"](copy.deepcopy(dict(row)))
        except (TypeError, KeyError, AttributeError, IndexError, ValueError):  # a value that no sample row had
            yield None


def map_batches(given: Rows, source: str) -> Iterator[Batch]:
    """Yield batches as a mapping makes them, with the numbers that their rows have then."""
    start = 0
    for batch in given.batches():
        rows = list(map_rows(unpack_rows(batch.frame.iter_rows(named=True), given.columns), source))
        if rows:
            yield Batch(start, _frame_of(rows))
        start += len(rows)


def _frame_of(rows: list[Row]) -> pl.DataFrame:
    """Return a frame of rows; values of a column that differ in type stay the Python objects that they are."""
    columns = types_of_rows(rows)
    mixed = {name for name, kind in columns.items() if any(part.word == "json" for part in scalars_of(kind))}
    return pl.DataFrame(
        [
            pl.Series(name, [row.get(name) for row in rows], pl.Object if name in mixed else None, strict=False)
            for name in columns
        ]
    )
