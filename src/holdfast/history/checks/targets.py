"""What statements of a method may change: names, attributes, and what they hold."""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from holdfast.history.checks.expressions import UNKNOWN


def forgotten(targets: Iterable[ast.expr | None]) -> Iterator[ast.stmt]:
    """Yield statements that forget what names hold."""
    for target in targets:
        match target:
            case (
                ast.Name()
                | ast.Attribute(
                    value=ast.Name(id="self" | "args" | "config")
                    | ast.Attribute(value=ast.Name(id="self"), attr="args")
                )
            ):
                yield ast.Assign([target], UNKNOWN)
            case ast.Subscript(value=value, ctx=ast.Store()) if _is_holder(value):
                holder = ast.parse(ast.unparse(value), mode="eval").body
                yield ast.Assign([value], ast.Call(ast.Name("touched"), [holder], []))
            case ast.Subscript(value=value) | ast.Starred(value=value):
                yield from forgotten([value])
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                yield from forgotten(parts)
            case _:
                pass


def _is_holder(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and is_own(node))


def targets(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the targets that statements assign to, those within them too."""
    for each in ast.walk(node):
        match each:
            case ast.Assign(targets=targets) | ast.Delete(targets=targets):
                yield from targets
            case ast.AnnAssign(target=target) | ast.AugAssign(target=target) | ast.For(target=target):
                yield target
            case ast.NamedExpr(target=target):
                yield target
            case ast.withitem(optional_vars=ast.expr() as target):
                yield target
            case _:
                pass


def own_targets(method: ast.FunctionDef, methods: Mapping[str, ast.FunctionDef]) -> Iterator[ast.expr]:
    """Yield the attributes that a method may change, and those that the methods it calls may."""
    for name in _reached(method, methods):
        yield from (each for each in targets(methods[name]) if not isinstance(each, ast.Name | ast.Tuple))


def checks_itself(method: ast.FunctionDef, methods: Mapping[str, ast.FunctionDef]) -> bool:
    """True if a method may raise on purpose, itself or by one that it calls."""
    inside = (each for name in _reached(method, methods) for each in ast.walk(methods[name]))
    return any(isinstance(each, ast.Raise | ast.Assert) for each in inside)


def _reached(method: ast.FunctionDef, methods: Mapping[str, ast.FunctionDef]) -> set[str]:
    found, waiting = set[str](), {method.name}
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= (own_calls(methods[name]) & set(methods)) - found
    return found


def own_calls(node: ast.AST) -> set[str]:
    """Return the names of the methods that are called on `self`."""
    return {
        each.func.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and _is_self(each.func.value)
    }


def right_side(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> tuple[ast.expr | None, Sequence[ast.expr]]:
    """Return the value of an assignment, and what it is given to."""
    match node:
        case ast.Assign(value=value, targets=targets):
            return value, targets
        case ast.AnnAssign(value=value, target=target):
            return value, [target]
        case ast.AugAssign(target=target, op=op, value=value):
            return ast.BinOp(ast.parse(ast.unparse(target), mode="eval").body, op, value), [target]


def matched(target: ast.expr, item: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the values that a loop over a literal list gives its names in one round."""
    match target, item:
        case ast.Name(id=name), _:
            yield name, item
        case ast.Tuple(elts=targets), (ast.Tuple(elts=items) | ast.List(elts=items)):
            for one, other in zip(targets, items, strict=False):
                yield from matched(one, other)
        case _:
            pass


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def is_own(target: ast.Attribute) -> bool:
    """True if an attribute is the object's own, or one of its configuration."""
    return ast.unparse(target.value) in {"self", "args", "config", "self.args"}
