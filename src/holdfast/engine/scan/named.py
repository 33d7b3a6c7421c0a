"""Columns by their exact names. Expressions and Series of polars take names such as `*` and `^a.*$` for patterns."""

import polars as pl
import polars.selectors as cs


def column(name: str) -> pl.Expr:
    """Return the column of exactly this name."""
    return cs.by_name(name).as_expr()


def nameless(frame: pl.DataFrame, name: str) -> pl.Series:
    """Return the values of a column, as a Series without a name."""
    return frame.get_column(name).alias("")
