"""The user's own function that sets the labels which a model learns from."""

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from holdfast.core.job.notebook import is_notebook
from holdfast.engine.rehearse.source_code import nodes_of
from holdfast.engine.rehearse.tracebacks import Cells, FailingLine

LABELS: Final = "labels"
Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_labelling(sources: Mapping[str, str], cells: Cells) -> FailingLine | None:
    r"""Return the line that sets `labels` in the one function of the user's code that does; None if none or several do.

    >>> text = "def encode(row):\n    row['labels'] = [-100]\n    return row\n"
    >>> found = find_labelling({"train.py": text}, cells=())
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
    for function in nodes_of(source):
        if isinstance(function, Function):
            lines = [line for node in ast.walk(function) for line in _labels_at(node, function)]
            yield from [(function.name, max(lines))] if lines else []


def _labels_at(node: ast.AST, function: Function) -> Iterator[int]:
    """Yield the line in which a statement or a dict sets labels; of those of a variable, that which gives it its last values."""
    for value, line in _label_values(node):
        yield _made_at(value, function) or line


def _label_values(node: ast.AST) -> Iterator[tuple[ast.expr, int]]:
    """Yield the values that a statement or a dict sets labels to, with its line."""
    match node:
        case ast.Assign(targets=[*_, ast.Subscript(slice=ast.Constant(value="labels"))], value=value):
            yield value, node.lineno
        case ast.Dict(keys=keys, values=values):
            items = zip(keys, values, strict=True)
            yield from ((value, node.lineno) for key, value in items if _is_labels(key))
        case _:
            pass


def _is_labels(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Constant) and key.value == LABELS


def _made_at(value: ast.expr, function: Function) -> int | None:
    """Return the line that last sets a variable or a part of it before it is used; None for what is no variable of the function's."""
    if not isinstance(value, ast.Name):
        return None
    lines = [
        target.lineno
        for statement in ast.walk(function)
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if _is_of(target, value.id) and target.lineno < value.lineno
    ]
    return max(lines, default=None)


def _is_of(target: ast.expr, name: str) -> bool:
    """True if a target is a variable or a part of it."""
    held = target.value if isinstance(target, ast.Subscript) else target
    return isinstance(held, ast.Name) and held.id == name
