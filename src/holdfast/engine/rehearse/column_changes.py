"""The line of the user's own code that renames or removes a column, where it names the column."""

import ast
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

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
    r"""Return what renames or removes a column; None if nothing does so by its name, or several lines do.

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
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if method in RENAMING:
            yield from (
                ChangedColumn(path, old.lineno, new.value)
                for old, new in _renamings(given)
                if isinstance(old, ast.Constant) and old.value == column
                if isinstance(new, ast.Constant) and isinstance(new.value, str)
            )
        removed = given[:1] if method == REMOVING else [each.value for each in call.keywords if each.arg == REMOVING]
        yield from (
            ChangedColumn(path, node.lineno)
            for value in removed
            for node in (value.elts if isinstance(value, ast.List | ast.Tuple | ast.Set) else [value])
            if isinstance(node, ast.Constant) and node.value == column
        )


def _renamings(given: list[ast.expr]) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """Yield the old and the new name in the arguments of `rename_columns`, which has a dict, or of `rename_column`."""
    if given and isinstance(given[0], ast.Dict):
        yield from zip(given[0].keys, given[0].values, strict=True)
    elif len(given) > 1:
        yield given[0], given[1]
