"""Rows that a script writes out itself: `Dataset.from_list([{"text": f"{n}"} for n in range(8)])`.

Nothing is executed: literals, comprehensions over literals and `range`, and what `core.expressions` understands.
"""

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Final

from holdfast.core.job.expressions import UNKNOWN, evaluate, is_known

MAKERS: Final = ("from_list", "from_dict")
MOST: Final = 10_000
"""Rows of one dataset, and values of one loop."""


def literal_rows(text: str) -> dict[int, list[dict[str, Any]]]:
    """Return the rows of each dataset that a script writes out, by the line of the call that makes it; none of what is computed.

    >>> literal_rows('Dataset.from_list([{"text": f"{n} is"} for n in range(2)])')
    {1: [{'text': '0 is'}, {'text': '1 is'}]}
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    names: dict[str, Any] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(target := statement.targets[0], ast.Name):
            names[target.id] = _value(statement.value, names)
    made = {call.lineno: _rows(call, names) for call in ast.walk(tree) if isinstance(call, ast.Call) and _makes(call)}
    return {line: rows for line, rows in made.items() if rows}


def _makes(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in MAKERS and len(call.args) == 1


def _rows(call: ast.Call, names: Mapping[str, Any]) -> list[dict[str, Any]]:
    value = _value(call.args[0], names)
    return rows_in(value)[:MOST] if is_known(value) else []


def rows_in(value: Any) -> list[dict[str, Any]]:
    """Return a list of rows, also if it is written as a mapping of columns; none if a value is neither.

    >>> rows_in({"a": [1, 2], "b": [3, 4]}), rows_in([{"a": 1}]), rows_in([1])
    ([{'a': 1, 'b': 3}, {'a': 2, 'b': 4}], [{'a': 1}], [])
    """
    if isinstance(value, Mapping):
        return _rows_of_columns(value)
    rows = value if isinstance(value, list) else []
    return rows if all(isinstance(row, Mapping) for row in rows) else []


def _rows_of_columns(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not all(isinstance(cells, list) for cells in columns.values()):
        return []
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=False)]


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    def lookup(each: ast.expr) -> Any:
        if isinstance(each, ast.Name):
            return names.get(each.id, UNKNOWN)
        if isinstance(each, ast.ListComp) and len(each.generators) == 1:
            return _looped(each, names)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "range":
            return _counted([_value(argument, names) for argument in each.args])
        return UNKNOWN

    return evaluate(node, lookup)


def _looped(loop: ast.ListComp, names: Mapping[str, Any]) -> Any:
    """Return the value of a comprehension."""
    (part,) = loop.generators
    values = _value(part.iter, names)
    if not isinstance(values, list) or not isinstance(part.target, ast.Name) or part.ifs:
        return UNKNOWN
    name = part.target.id
    return [_value(loop.elt, {**names, name: value}) for value in values[:MOST]]


def _counted(bounds: Sequence[Any]) -> Any:
    if not bounds or not all(isinstance(bound, int) for bound in bounds):
        return UNKNOWN
    try:
        return list(range(*bounds)[:MOST])
    except (TypeError, ValueError):
        return UNKNOWN
