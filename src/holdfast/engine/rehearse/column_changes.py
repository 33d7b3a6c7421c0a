"""The line of the user's own code that renames or removes a column, where it names the column."""

import ast
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from holdfast.engine.rehearse.source_code import nodes_of

RENAMING: Final = frozenset({"rename_column", "rename_columns"})
REMOVING: Final = "remove_columns"
"""A method, and the argument of `map`, that takes columns away."""


class ChangedColumn(NamedTuple):
    """What a script does to a column.

    Attributes:
        path: The file.
        line: The line of the column's name.
        renamed: The new name; empty if the column is removed.
    """

    path: str
    line: int
    renamed: str = ""


def find_column_change(column: str, sources: Mapping[str, str]) -> ChangedColumn | None:
    r"""Return the line that renames or removes a column; None if none does so by its name, or several do.

    >>> find_column_change("chosen", {"a.py": 'rows = rows.rename_columns({\n    "chosen": "good",\n})'})
    ChangedColumn(path='a.py', line=2, renamed='good')
    >>> find_column_change("chosen", {"a.py": 'rows = rows.map(f, remove_columns=["id", "chosen"])'})
    ChangedColumn(path='a.py', line=1, renamed='')
    >>> find_column_change("chosen", {"a.py": 'rows.rename_column("good", "chosen")'})

    Args:
        column: Its name.
        sources: The texts of the user's files, by path.
    """
    found = [change for path, source in sources.items() for change in _changes(column, path, source)]
    return found[0] if len(found) == 1 else None


def _changes(column: str, path: str, source: str) -> Iterator[ChangedColumn]:
    calls = (node for node in nodes_of(source) if isinstance(node, ast.Call))
    return (ChangedColumn(path, line, renamed) for call in calls for line, renamed in _changed_by(call, column))


def _changed_by(call: ast.Call, column: str) -> Iterator[tuple[int, str]]:
    """Yield the line of a column's name in a call that renames or removes it, and the new name; an empty one if it is removed."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if method in RENAMING:
        yield from _renamed(column, given)
    removed = given[:1] if method == REMOVING else [each.value for each in call.keywords if each.arg == REMOVING]
    yield from _removed(column, removed)


def _renamed(column: str, given: list[ast.expr]) -> Iterator[tuple[int, str]]:
    for old, new in _renamings(given):
        is_of_column = isinstance(old, ast.Constant) and old.value == column
        if old and is_of_column and isinstance(new, ast.Constant) and isinstance(new.value, str):
            yield old.lineno, new.value


def _removed(column: str, values: list[ast.expr]) -> Iterator[tuple[int, str]]:
    for value in values:
        names = value.elts if isinstance(value, ast.List | ast.Tuple | ast.Set) else [value]
        yield from ((name.lineno, "") for name in names if isinstance(name, ast.Constant) and name.value == column)


def _renamings(given: list[ast.expr]) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """Yield the old and the new name in the arguments of `rename_columns`, which has a dict, or of `rename_column`."""
    if given and isinstance(given[0], ast.Dict):
        yield from zip(given[0].keys, given[0].values, strict=True)
    elif len(given) > 1:
        yield given[0], given[1]
