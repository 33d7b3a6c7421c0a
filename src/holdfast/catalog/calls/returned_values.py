"""What a function of the user's returns, as far as its own lines say so."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from holdfast.catalog.formats import types_of_rows
from holdfast.core.rows.columns import Type

CallableNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
ReturnKind = Literal["", "list", "dict", "number", "text", "nothing"]
HIDDEN: Final = object()
"""In place of a value that is computed."""
LITERALS: Final[Mapping[type, ReturnKind]] = {int: "number", float: "number", str: "text"}
MADE_BY: Final[Mapping[str, ReturnKind]] = {
    "list": "list",
    "dict": "dict",
    "str": "text",
    **dict.fromkeys(("float", "int", "len", "round", "sum"), "number"),
}
"""What a call of a built-in function returns."""
DISPLAYS: Final[Mapping[type, ReturnKind]] = {
    ast.List: "list",
    ast.ListComp: "list",
    ast.Dict: "dict",
    ast.DictComp: "dict",
}
SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def kind_returned(function: CallableNode) -> ReturnKind:
    r"""Return the kind of value that every `return` of a function gives; empty if they differ, or where one cannot be read.

    >>> kind_returned(ast.parse("def f(rows):\n    texts = []\n    return texts").body[0])
    'list'
    >>> kind_returned(ast.parse("def f(row):\n    return row['text']").body[0])
    ''
    """
    if isinstance(function, ast.Lambda):
        return _kind_of(function.body, {})
    nodes = list(_own_nodes(function))
    if isinstance(function, ast.AsyncFunctionDef) or any(isinstance(each, ast.Yield | ast.YieldFrom) for each in nodes):
        return ""
    return _only(_kinds_of_returns(nodes, function.body))


def _only(kinds: set[ReturnKind]) -> ReturnKind:
    """Return the kind that is the only one; empty if there are several, or none."""
    return kinds.pop() if len(kinds) == 1 else ""


def _kinds_of_returns(nodes: Sequence[ast.AST], body: Sequence[ast.stmt]) -> set[ReturnKind]:
    """Return the kinds of values that a function returns; without a `return` nothing, unless it is still to be written."""
    names = _kinds_of_names(nodes)
    returns = [each.value for each in nodes if isinstance(each, ast.Return)]
    if not returns and not _is_stub(body):
        return {"nothing"}
    return {_kind_of(value, names) if value else "nothing" for value in returns}


def keys_returned(function: CallableNode) -> tuple[str, ...]:
    r"""Return the keys of the dicts that a function returns; nothing if one of them cannot be read.

    >>> keys_returned(ast.parse("def f(pairs):\n    return {'acc': 1.0}").body[0])
    ('acc',)
    """
    return tuple(dict.fromkeys(name for row in _rows_returned(function) for name in row))


def types_returned(function: CallableNode) -> dict[str, Type]:
    r"""Return the types of the values in the dicts that a function returns; `other` where its literals do not show one.

    >>> code = "lambda row: {'text': f'{row}', 'messages': [{'role': 'user', 'content': row}]}"
    >>> {name: str(kind) for name, kind in types_returned(ast.parse(code, mode="eval").body).items()}
    {'text': 'string', 'messages': 'list<struct<role: string, content: other>>'}
    """
    return types_of_rows(_rows_returned(function))


def _rows_returned(function: CallableNode) -> list[dict[str, Any]]:
    """Return the dicts that a function returns, with `HIDDEN` for what they do not show; nothing if one of them cannot be read."""
    returns = (
        [function.body]
        if isinstance(function, ast.Lambda)
        else [each.value for each in _own_nodes(function) if isinstance(each, ast.Return)]
    )
    rows = [_sample(each) if isinstance(each, ast.Dict) else HIDDEN for each in returns]
    return [row for row in rows if isinstance(row, dict)] if HIDDEN not in rows else []


def _sample(node: ast.expr) -> Any:
    """Return a value of the kind that a literal is; `HIDDEN` for other expressions."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.JoinedStr() | ast.BinOp(left=ast.Constant(value=str()) | ast.JoinedStr(), op=ast.Add()):
            return ""
        case ast.List(elts=items):
            return list(map(_sample, items))
        case ast.Dict(keys=keys, values=values):
            return _sample_dict(keys, values)
        case _:
            return HIDDEN


def _sample_dict(keys: Sequence[ast.expr | None], values: Sequence[ast.expr]) -> Any:
    names = [key.value if isinstance(key, ast.Constant) else None for key in keys]
    known = all(isinstance(name, str) for name in names)
    return dict(zip(names, map(_sample, values), strict=True)) if known else HIDDEN


def _is_stub(body: Sequence[ast.stmt]) -> bool:
    """True if a function is still to be written, or always raises: `...` alone, or an error at the end."""
    last = body[-1]
    is_ellipsis = isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)
    return is_ellipsis or isinstance(last, ast.Raise)


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of functions and classes within."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, SCOPES):
            yield from _own_nodes(child)


def _kinds_of_names(nodes: Sequence[ast.AST]) -> dict[str, ReturnKind]:
    """Return the kinds of a function's variables, of those that are only ever assigned one kind of value."""
    kinds: dict[str, list[ReturnKind]] = defaultdict(list)
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            kinds[node.targets[0].id].append(_kind_of(node.value, {}))
    stored = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return {name: each[0] for name, each in kinds.items() if len(set(each)) == 1 and stored[name] == len(each)}


def _kind_of(node: ast.expr, names: Mapping[str, ReturnKind]) -> ReturnKind:
    match node:
        case ast.IfExp(body=one, orelse=other):
            return _only({_kind_of(one, names), _kind_of(other, names)})
        case ast.Name(id=name):
            return names.get(name, "")
        case ast.Constant(value=value):
            return LITERALS.get(type(value), "")
        case ast.Call(func=ast.Name(id=name)):
            return MADE_BY.get(name, "")
        case _:
            return DISPLAYS.get(type(node), _kind_of_text(node))


def _kind_of_text(node: ast.expr) -> ReturnKind:
    return "text" if _is_text(node) else ""


def _is_text(node: ast.expr) -> bool:
    """True if an expression surely gives a text; so does a chat template that is not to make tokens."""
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr() | ast.Call(func=ast.Name(id="str")):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="join" | "format")):
            return True
        case ast.Call(func=ast.Attribute(attr="apply_chat_template"), keywords=given):
            return any(
                each.arg == "tokenize" and isinstance(each.value, ast.Constant) and not each.value.value
                for each in given
            )
        case ast.BinOp(left=left, op=ast.Add()):
            return _is_text(left)
        case _:
            return False
