"""What a function of the program returns, as far as its own lines say so."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

CallableNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
ReturnKind = Literal["", "list", "dict", "number", "nothing"]
SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def kind_returned(function: CallableNode) -> ReturnKind:
    r"""Return the kind of value that every `return` of a function gives; empty where they differ, or where one cannot be read.

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
    names = _kinds_of_names(nodes)
    returns = (each.value for each in nodes if isinstance(each, ast.Return))
    kinds: set[ReturnKind] = {_kind_of(value, names) if value else "nothing" for value in returns}
    if not kinds and not _is_stub(function.body):
        return "nothing"
    return kinds.pop() if len(kinds) == 1 else ""


def keys_returned(function: CallableNode) -> tuple[str, ...]:
    r"""Return the keys of the dicts that a function returns; nothing where one of them cannot be read.

    >>> keys_returned(ast.parse("def f(pairs):\n    return {'acc': 1.0}").body[0])
    ('acc',)
    """
    returns = [each.value for each in _own_nodes(function) if isinstance(each, ast.Return)]
    dicts = [each for each in returns if isinstance(each, ast.Dict)]
    keys = [key.value if isinstance(key, ast.Constant) else None for each in dicts for key in each.keys]
    names = [key for key in keys if isinstance(key, str)]
    return tuple(dict.fromkeys(names)) if len(dicts) == len(returns) and len(names) == len(keys) else ()


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
        case ast.List() | ast.ListComp() | ast.Call(func=ast.Name(id="list")):
            return "list"
        case ast.Dict() | ast.DictComp() | ast.Call(func=ast.Name(id="dict")):
            return "dict"
        case (
            ast.Constant(value=int() | float()) | ast.Call(func=ast.Name(id="float" | "int" | "len" | "round" | "sum"))
        ):
            return "" if isinstance(node, ast.Constant) and isinstance(node.value, bool) else "number"
        case ast.IfExp(body=one, orelse=other) if _kind_of(one, names) == _kind_of(other, names):
            return _kind_of(one, names)
        case ast.Name(id=name):
            return names.get(name, "")
        case _:
            return ""
