"""Whether a function of the user's masks the beginning of labels, as far as its own lines say so."""

import ast
from typing import Final

CallableNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
IGNORED: Final = "-100"
"""The label that no loss is computed for."""


def masks_prompt(function: CallableNode) -> bool:
    r"""True if a function surely writes `labels` whose first tokens, those of the prompt, are -100.

    Padding that is masked, at either end, is none: collators mask it too.

    >>> masks_prompt(ast.parse("def f(row):\n    return {'labels': [-100] * len(prompt) + answer}").body[0])
    True
    >>> masks_prompt(ast.parse("def f(row):\n    return {'labels': ids + [-100] * (512 - len(ids))}").body[0])
    False
    """
    nodes = list(ast.walk(function))
    lengths = {name for node in nodes if (name := _name_of_length(node))}
    return any(map(_writes_labels, nodes)) and any(_masks(node, lengths) for node in nodes)


def _writes_labels(node: ast.AST) -> bool:
    match node:
        case ast.Dict(keys=keys):
            return any(isinstance(key, ast.Constant) and key.value == "labels" for key in keys)
        case ast.Subscript(slice=ast.Constant(value="labels"), ctx=ast.Store()) | ast.keyword(arg="labels"):
            return True
        case _:
            return False


def _name_of_length(node: ast.AST) -> str:
    """Return the variable that a statement gives the length of something; empty for other nodes."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_length(value):
            return name
        case _:
            return ""


def _masks(node: ast.AST, lengths: set[str]) -> bool:
    """True if a node repeats -100 for each token of something, or sets it up to a position."""
    match node:
        case ast.BinOp(left=ast.List(elts=[ignored]), op=ast.Mult(), right=count) if _is_ignored(ignored):
            return _is_length(count) or (isinstance(count, ast.Name) and count.id in lengths)
        case ast.Assign(targets=[ast.Subscript(slice=ast.Slice(lower=None, upper=ast.expr() as end))], value=value):
            return IGNORED in ast.unparse(value) and not _is_of_padding(end)
        case _:
            return False


def _is_ignored(node: ast.expr) -> bool:
    return ast.unparse(node) == IGNORED


def _is_length(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "len" and not _is_of_padding(node)


def _is_of_padding(node: ast.expr) -> bool:
    return "pad" in ast.unparse(node).lower()
