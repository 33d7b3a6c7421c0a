"""Whether a function of the user's masks the beginning of labels, as far as its own lines say so."""

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Final

from holdfast.catalog.calls.completion_use import CallableNode

IGNORED: Final = -100
"""The label that no loss is computed for."""
CONDITIONAL: Final = (ast.If, ast.IfExp, ast.BoolOp, ast.Match, ast.Try, ast.While, ast.FunctionDef, ast.Lambda)
"""Nodes whose parts may not be evaluated."""


def masks_prompt(function: CallableNode) -> bool:
    r"""True if a function surely writes `labels` whose first tokens, those of the prompt, are -100.

    Padding that is masked, at either end, is none: collators mask it too. Nor is a mask that depends on a condition.

    >>> masks_prompt(ast.parse("def f(row):\n    return {'labels': [-100] * len(prompt) + answer}").body[0])
    True
    >>> masks_prompt(ast.parse("def f(row):\n    return {'labels': ids + [-100] * len(rest)}").body[0])
    False
    """
    nodes = list(_surely_evaluated(function))
    lengths = _names_of_lengths(function)
    return any(map(_writes_labels, nodes)) and any(_masks(node, lengths) for node in nodes)


def _surely_evaluated(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, CONDITIONAL):
            yield from _surely_evaluated(child)


def _writes_labels(node: ast.AST) -> bool:
    match node:
        case ast.Dict(keys=keys):
            return any(isinstance(key, ast.Constant) and key.value == "labels" for key in keys)
        case ast.Subscript(slice=ast.Constant(value="labels"), ctx=ast.Store()) | ast.keyword(arg="labels"):
            return True
        case _:
            return False


def _names_of_lengths(function: CallableNode) -> set[str]:
    """Return the variables that a function sets once, to the length of something."""
    nodes = list(ast.walk(function))
    stored = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return {name for node in nodes if (name := _name_of_length(node)) and stored[name] == 1}


def _name_of_length(node: ast.AST) -> str:
    """Return the variable that a statement gives the length of something; empty for other nodes."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_length(value):
            return name
        case _:
            return ""


def _masks(node: ast.AST, lengths: set[str]) -> bool:
    """True if a node begins with a -100 for each token of something, or sets that many first labels to it."""
    match node:
        case ast.BinOp(left=ast.BinOp(left=ast.List(elts=[each]), op=ast.Mult(), right=count), op=ast.Add()):
            return _is_ignored(each) and _counts(count, lengths)
        case ast.Assign(targets=[ast.Subscript(slice=ast.Slice(lower=None, upper=ast.expr() as end))], value=value):
            return any(map(_is_ignored, ast.walk(value))) and _counts(end, lengths)
        case _:
            return False


def _counts(node: ast.expr, lengths: set[str]) -> bool:
    """True if an expression is the length of something that is not padding."""
    return _is_length(node) or (isinstance(node, ast.Name) and node.id in lengths)


def _is_ignored(node: ast.AST) -> bool:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=number)):
            return number == -IGNORED
        case _:
            return False


def _is_length(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "len" and "pad" not in ast.unparse(node).lower()
