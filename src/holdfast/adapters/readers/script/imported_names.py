"""The names of one import statement changed as text, by LibCST: comments, aliases and layout of the others stay."""

from bisect import bisect
from collections.abc import Iterable, Sequence

import libcst

from holdfast.adapters.readers.script.rows import NOTHING, ItemRow, comma, written


def change_names(source: str, gone: Iterable[str], new: Sequence[str]) -> str:
    """Return an import statement without some of its names, and with others.

    Args:
        source: The statement, `from … import …`.
        gone: The names to take out, each as it is written: `a`, `a as b`.
        new: The names to add, likewise: where the order wants them, else at the end.

    >>> change_names("from trl import (A, B as C, D)", ["B as C"], ["E"])
    'from trl import (A, D, E)'
    """
    line = libcst.parse_statement(source)
    statement = line.body[0] if isinstance(line, libcst.SimpleStatementLine) else None
    if not isinstance(statement, libcst.ImportFrom) or isinstance(statement.names, libcst.ImportStar):
        raise TypeError(f"no import of names: {source!r}")
    row = _take(statement, statement.names)
    for name in gone:
        row = row.drop(next(at for at, item in enumerate(row.items) if spelled(item) == name))
    for name in new:
        row = row.insert(_place(list(map(spelled, row.items)), name), _alias(name))
    return written(_put(statement, row), source)


def spelled(alias: libcst.ImportAlias) -> str:
    """Return an imported name with its alias: `a`, `a as b`."""
    return f"{alias.evaluated_name} as {alias.evaluated_alias}" if alias.evaluated_alias else alias.evaluated_name


def _place(names: Sequence[str], new: str) -> int:
    """Return where a name comes among others: at the end, where these are in no order."""
    in_order = list(names) == sorted(names)
    return bisect(names, new) if in_order else len(names)


def _alias(name: str) -> libcst.ImportAlias:
    old, _, new = name.partition(" as ")
    return libcst.ImportAlias(libcst.Name(old), asname=libcst.AsName(libcst.Name(new)) if new else None)


def _take(statement: libcst.ImportFrom, names: Sequence[libcst.ImportAlias]) -> ItemRow[libcst.ImportAlias]:
    first = statement.lpar.whitespace_after if statement.lpar else NOTHING
    last = statement.rpar.whitespace_before if statement.rpar else NOTHING
    return ItemRow.of(names, first, lambda _: last)


def _put(statement: libcst.ImportFrom, row: ItemRow[libcst.ImportAlias]) -> libcst.ImportFrom:
    names = [
        alias.with_changes(comma=comma(gap) if parted else libcst.MaybeSentinel.DEFAULT)
        for alias, gap, parted in row.spaced()
    ]
    if not statement.lpar or not statement.rpar:
        return statement.with_changes(names=names)
    return statement.with_changes(
        names=names,
        lpar=statement.lpar.with_changes(whitespace_after=row.gaps[0]),
        rpar=statement.rpar.with_changes(whitespace_before=NOTHING if row.trailing else row.gaps[-1]),
    )
