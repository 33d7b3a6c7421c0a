"""The user's own function that sets the labels which a model learns from."""

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from holdfast.core.notebook import is_notebook
from holdfast.engine.rehearse.tracebacks import Cells, FailingLine

LABELS: Final = "labels"
Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_labelling(sources: Mapping[str, str], cells: Cells = ()) -> FailingLine | None:
    r"""Return the line that sets `labels` in the one function of the user's code that does; None where none or several do.

    >>> text = "def encode(row):\n    row['labels'] = [-100]\n    return row\n"
    >>> found = find_labelling({"train.py": text})
    >>> found.where, found.function
    ('train.py:2', 'encode')
    """
    found = {(path, name): line for path, source in sources.items() for name, line in _setters(source)}
    if len(found) != 1:
        return None
    ((path, name), line) = found.popitem()
    code = sources[path].splitlines()[line - 1].strip()
    return FailingLine(path=path, line=line, code=code, function=name, cells=cells if is_notebook(path) else ())


def _setters(source: str) -> Iterator[tuple[str, int]]:
    """Yield each function that sets labels, with the line of the last time that it does."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for function in ast.walk(tree):
        if isinstance(function, Function):
            lines = [node.lineno for node in ast.walk(function) if _sets_labels(node) if isinstance(node, ast.expr)]
            yield from [(function.name, max(lines))] if lines else []


def _sets_labels(node: ast.AST) -> bool:
    match node:
        case ast.Subscript(slice=ast.Constant(value="labels"), ctx=ast.Store()):
            return True
        case ast.Dict(keys=keys):
            return any(isinstance(key, ast.Constant) and key.value == LABELS for key in keys)
        case _:
            return False
