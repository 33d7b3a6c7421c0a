"""The keys that a function reads of the row that it is given, wherever it goes."""

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from holdfast.catalog.calls.element_loops import element_loops
from holdfast.core.job.parameters import positional_names

CallableNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
SIMPLE: Final = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.expr)
"""Statements without branches, and the expression of a lambda."""
READING: Final = frozenset({"get", "keys", "values", "items", "copy"})
"""Methods of a row that change nothing of it."""


def keys_read(function: CallableNode) -> tuple[str, ...]:
    r"""Return the keys that a function surely reads of its first argument, in order.

    What stands in a branch, after one, or after the row may have been changed, is left out.

    >>> keys_read(ast.parse("def f(row):\n    text = row['q'] + row['a']\n    return {'text': text}").body[0])
    ('q', 'a')
    >>> keys_read(ast.parse("def f(row):\n    if 'q' in row:\n        return row['q']\n    return row['a']").body[0])
    ()
    """
    row = _first_parameter(function)
    keys: list[str] = []
    for statement in _surely_run(function, SIMPLE) if row else ():
        nodes = list(_evaluated(statement))
        if _may_change(nodes, row):
            break
        keys += _keys(nodes, row)
        if _sets(statement, row):
            break
    return tuple(dict.fromkeys(keys))


def element_keys_read(function: CallableNode) -> tuple[str, ...]:
    r"""Return the keys that a function surely reads of each element of its first argument, in order.

    >>> element_keys_read(ast.parse("def f(rows):\n    return tokenizer([row['text'] for row in rows])").body[0])
    ('text',)
    >>> element_keys_read(ast.parse("def f(rows):\n    return [row['a'] if 'a' in row else row['b'] for row in rows]").body[0])
    ()
    """
    rows = _first_parameter(function)
    if not rows or _rebinds(function, rows):
        return ()
    keys: list[str] = []
    for statement in _surely_run(function, (*SIMPLE, ast.For)):
        keys += _element_keys(statement, rows)
    stored = {key for node in ast.walk(function) if (key := _stored_key(node))}
    return tuple(key for key in dict.fromkeys(keys) if key not in stored)


def _first_parameter(function: CallableNode) -> str:
    """Return the name of a function's first parameter; empty if it has none, or is not called as others are."""
    names = () if isinstance(function, ast.AsyncFunctionDef) else positional_names(function.args)
    return next(iter(names), "")


def _surely_run(function: CallableNode, kinds: tuple[type[ast.AST], ...]) -> Iterator[ast.AST]:
    """Yield the first statements of a function, as far as they are of some kinds, and none returns before them."""
    for statement in [function.body] if isinstance(function, ast.Lambda) else function.body:
        if not isinstance(statement, kinds):
            return
        yield statement
        if isinstance(statement, ast.Return):
            return


def _element_keys(statement: ast.AST, parameter: str) -> Iterator[str]:
    for node in _evaluated(statement):
        for loop in element_loops(node, parameter):
            for part in loop.body:
                if not isinstance(part, SIMPLE):
                    break
                yield from _keys(_evaluated(part), loop.name)


def _rebinds(function: CallableNode, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(function)
    )


def _stored_key(node: ast.AST) -> str:
    """Return the key of an item that is given a value, by whatever name; empty for other nodes."""
    match node:
        case ast.Subscript(slice=ast.Constant(value=str(key)), ctx=ast.Store()):
            return key
        case _:
            return ""


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those in it that are evaluated whenever it is."""
    yield node
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
            children = ()
        case ast.IfExp(test=test):
            children = (test,)
        case ast.BoolOp(values=[first, *_]):
            children = (first,)
        case ast.ListComp(generators=[first, *_]) | ast.SetComp(generators=[first, *_]):
            children = (first.iter,)
        case ast.DictComp(generators=[first, *_]) | ast.GeneratorExp(generators=[first, *_]):
            children = (first.iter,)
        case _:
            pass
    for child in children:
        yield from _evaluated(child)


def _keys(nodes: Iterable[ast.AST], row: str) -> tuple[str, ...]:
    found: list[str] = []
    for node in nodes:
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key)), ctx=ast.Load()) if (
                name == row
            ):
                found.append(key)
            case _:
                pass
    return tuple(found)


def _may_change(nodes: Iterable[ast.AST], row: str) -> bool:
    """True if the row is used otherwise than by a key, or by a method that changes nothing: what it holds then is not known."""
    listed = list(nodes)
    harmless = {id(held) for node in listed if (held := _looked_into(node)) is not None}
    return any(isinstance(each, ast.Name) and each.id == row and id(each) not in harmless for each in listed)


def _looked_into(node: ast.AST) -> ast.expr | None:
    """Return the expression of which a node only reads an item or calls a harmless method; None for other nodes."""
    match node:
        case ast.Subscript(value=held):
            return held
        case ast.Attribute(value=held, attr=name) if name in READING:
            return held
        case _:
            return None


def _sets(statement: ast.AST, row: str) -> bool:
    """True if a statement gives the row an item."""
    nodes = (each for each in ast.walk(statement) if isinstance(each, ast.Subscript))
    return any(
        isinstance(each.ctx, ast.Store) and isinstance(each.value, ast.Name) and each.value.id == row for each in nodes
    )
