"""Leaving out of a program what cannot matter for an error that it certainly raises."""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from holdfast.history.checks.expressions import UNKNOWN, can_be, fold, is_unknown, reads

ROUNDS: Final = 8
Functions = dict[str, ast.FunctionDef]


def sliced(main: str, functions: Mapping[str, ast.FunctionDef], *, is_dataclass: bool) -> list[ast.FunctionDef]:
    """Return the functions that matter, the main one first, with the statements that matter.

    Args:
        main: Name of the first one.
        functions: All of them, by name.
        is_dataclass: Whether the object's attributes hold its arguments, which a base may check too.
    """
    now = dict(functions)
    for _ in range(ROUNDS):
        before = _dumped(now)
        now = _reduced(main, now, is_dataclass=is_dataclass)
        if before == _dumped(now):
            break
    others = (now[name] for name in now if name != main and name in _called(now.values()))
    return [_with_body(now[main], _without_last_return(now[main].body)), *others]


def _dumped(functions: Functions) -> dict[str, str]:
    return {name: ast.dump(each) for name, each in functions.items()}


def _reduced(main: str, functions: Functions, *, is_dataclass: bool) -> Functions:
    """Return the functions without what cannot matter in them as they stand."""
    live = {name: _with_body(each, _live(each.body, certain=True)) for name, each in functions.items()}
    known = _settle_unknown(_without_harmless(main, live), is_dataclass=is_dataclass)
    wanted = _deciding_names(known, is_dataclass=is_dataclass)
    return {name: _with_body(each, _kept(each.body, wanted)) for name, each in known.items()}


def _with_body(function: ast.FunctionDef, body: Iterable[ast.stmt]) -> ast.FunctionDef:
    return ast.FunctionDef(function.name, function.args, list(body) or [ast.Pass()], [])


def condition(test: ast.expr, then: Iterable[ast.stmt], orelse: Iterable[ast.stmt]) -> ast.If:
    """Return an `if` statement; its first body may be empty."""
    return ast.If(test, list(then) or [ast.Pass()], list(orelse))


def _live(body: Iterable[ast.stmt], *, certain: bool) -> Iterator[ast.stmt]:
    """Yield statements without the errors that nothing can make certain."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _live_condition(node, certain=certain)
        elif not isinstance(node, ast.Pass) and (certain or not _is_message(node)):
            yield node


def _live_condition(node: ast.If, *, certain: bool) -> Iterator[ast.stmt]:
    test = fold(node.test)
    then = list(_live(node.body, certain=certain and can_be(test, holds=True)))
    orelse = list(_live(node.orelse, certain=certain and can_be(test, holds=False)))
    if then or orelse:
        yield condition(test, then, orelse)


def _is_message(node: ast.stmt) -> bool:
    """True of an error or a warning."""
    return isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and _is_warning(node.value))


def _without_harmless(main: str, functions: Functions) -> Functions:
    """Take away the methods that raise nothing, and forget what they change where they are called."""
    kept = _reaching_errors(functions) | {main}
    changed = {
        name: sorted({target for target, _ in _assigned(each) if "." in target})
        for name, each in functions.items()
        if name not in kept
    }
    return {name: _with_body(each, _forgetting(each.body, changed)) for name, each in functions.items() if name in kept}


def _reaching_errors(functions: Functions) -> set[str]:
    """Return the names of the functions that may raise or warn, themselves or by another that they call."""
    raising = {name for name, each in functions.items() if may_raise_or_warn(each)}
    while more := {name for name, each in functions.items() if name not in raising and _called([each]) & raising}:
        raising |= more
    return raising


def _forgetting(body: Iterable[ast.stmt], changed: Mapping[str, Sequence[str]]) -> Iterator[ast.stmt]:
    """Yield statements with what methods change forgotten, in place of the calls of these methods."""
    for node in body:
        if isinstance(node, ast.If):
            yield condition(node.test, _forgetting(node.body, changed), _forgetting(node.orelse, changed))
        elif isinstance(node, ast.Assign | ast.Expr | ast.Return):
            yield from _forgetting_call(node, changed)
        else:
            yield node


def _forgetting_call(
    node: ast.Assign | ast.Expr | ast.Return, changed: Mapping[str, Sequence[str]]
) -> Iterator[ast.stmt]:
    name = _own_method(node.value)
    if name not in changed or _is_super(node.value):
        yield node
        return
    yield from ast.parse("\n".join(f"{target} = ..." for target in changed[name])).body
    if isinstance(node, ast.Assign):
        yield ast.Assign(node.targets, UNKNOWN)
    elif isinstance(node, ast.Return):
        yield ast.Return(UNKNOWN)


def may_raise_or_warn(function: ast.FunctionDef) -> bool:
    """True if a function may raise or warn, or ask its base to."""
    return any(isinstance(each, ast.Raise) or _is_super(each) or _is_warning(each) for each in ast.walk(function))


def _is_warning(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "warn"


def _is_super(node: ast.AST | None) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")))):
            return True
        case _:
            return False


def _visited(visitor: ast.NodeTransformer, body: Iterable[ast.stmt]) -> list[ast.stmt]:
    visited = (visitor.visit(each) for each in body)
    return [each for each in visited if each is not None]


def _settle_unknown(functions: Functions, *, is_dataclass: bool) -> Functions:
    """Put `...` in place of what never has a known value, and fold what becomes unknown by it."""
    settled = {name: _settle_locals(function) for name, function in functions.items()}
    return settled if is_dataclass else _settle_attributes(settled)


def _settle_locals(function: ast.FunctionDef) -> ast.FunctionDef:
    given = {each.arg for each in (*function.args.args, *function.args.kwonlyargs)}
    lost = {target for target in _never_known([function]) if target not in given and "." not in target}
    return _with_body(function, _visited(_Lost(lost), function.body)) if lost else function


def _settle_attributes(functions: Functions) -> Functions:
    """Likewise for attributes that a class gives itself, none of them known."""
    lost = {target for target in _never_known(functions.values()) if target.startswith("self.")}
    return {name: _with_body(each, _visited(_Lost(lost), each.body)) for name, each in functions.items()}


def _never_known(functions: Iterable[ast.FunctionDef]) -> set[str]:
    """Return the targets that are assigned unknown values alone."""
    values: dict[str, list[ast.expr]] = {}
    for function in functions:
        for target, value in _assigned(function):
            values.setdefault(target, []).append(value)
    return {target for target, given in values.items() if all(map(is_unknown, given))}


class _Lost(ast.NodeTransformer):
    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        return ast.Assign(node.targets, self.visit(node.value))

    def visit_If(self, node: ast.If) -> ast.If:
        then, orelse = _visited(self, node.body), _visited(self, node.orelse)
        return condition(fold(self.visit(node.test)), then, orelse)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return UNKNOWN if node.id in self.names else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if ast.unparse(node) in self.names:
            return UNKNOWN
        self.generic_visit(node)
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        return fold(node) if isinstance(node, ast.expr) else node


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for each in ast.walk(node):
        if isinstance(each, ast.Assign):
            yield ast.unparse(each.targets[0]), each.value


def _deciding_names(functions: Functions, *, is_dataclass: bool) -> set[str]:
    """Return the names whose values may decide something."""
    bodies = [function.body for function in functions.values()]
    wanted = set(_shared_attributes(functions.values(), is_dataclass=is_dataclass))
    wanted.update(*(_deciding(body, ()) for body in bodies))
    while not (leading := set[str]().union(*(_leading(body, wanted, ()) for body in bodies))) <= wanted:
        wanted |= leading
    return wanted


def _shared_attributes(functions: Iterable[ast.FunctionDef], *, is_dataclass: bool) -> Iterator[str]:
    """Yield the attributes that a base may check too: a dataclass's, and those that hold the argument of their name."""
    for function in functions:
        for target, value in _assigned(function):
            holder, _, name = target.partition(".")
            if holder == "self" and (is_dataclass or _is_named(value, name)):
                yield target


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _deciding(body: Sequence[ast.stmt], tests: tuple[ast.expr, ...]) -> Iterator[str]:
    """Yield the names that are read where something is decided: by errors, calls and returns, and on the way to them."""
    for node in body:
        match node:
            case ast.If(test=test):
                yield from _deciding(node.body, (*tests, test))
                yield from _deciding(node.orelse, (*tests, test))
            case ast.Assign(value=value) if not _own_method(value):
                pass
            case _:
                yield from reads(node)
                for test in tests:
                    yield from reads(test)


def _leading(body: Sequence[ast.stmt], wanted: set[str], tests: tuple[ast.expr, ...]) -> Iterator[str]:
    """Yield the names that lead to the values of others."""
    for node in body:
        match node:
            case ast.If(test=test):
                yield from _leading(node.body, wanted, (*tests, test))
                yield from _leading(node.orelse, wanted, (*tests, test))
            case ast.Assign(targets=[target], value=value) if _is_wanted(target, wanted):
                yield from reads(value)
                for test in tests:
                    yield from reads(test)
            case _:
                pass


def _kept(body: Sequence[ast.stmt], wanted: set[str]) -> Iterator[ast.stmt]:
    """Yield the statements that matter; one after another that give the same name a value count once."""
    for node, following in zip_longest(body, body[1:]):
        if isinstance(node, ast.If):
            yield from _kept_condition(node, wanted)
        elif isinstance(node, ast.Assign):
            yield from () if _is_same(node, following) else _kept_assignment(node, wanted)
        elif not isinstance(node, ast.Pass):
            yield node


def _kept_condition(node: ast.If, wanted: set[str]) -> Iterator[ast.stmt]:
    then, orelse = list(_kept(node.body, wanted)), list(_kept(node.orelse, wanted))
    if then or orelse:
        yield condition(node.test, then, orelse)


def _kept_assignment(node: ast.Assign, wanted: set[str]) -> Iterator[ast.stmt]:
    target, value = node.targets[0], node.value
    if _is_wanted(target, wanted) and ast.unparse(target) != ast.unparse(value):
        yield node
    elif _own_method(value):
        yield ast.Expr(value)


def _is_same(node: ast.Assign, following: ast.stmt | None) -> bool:
    return following is not None and ast.dump(node) == ast.dump(following)


def _is_wanted(target: ast.expr, wanted: set[str]) -> bool:
    return ast.unparse(target) in wanted or (isinstance(target, ast.Attribute) and target.attr == "__dict__")


def _without_last_return(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    return body[:-1] if isinstance(body[-1], ast.Return) and not _own_method(body[-1].value) else body


def _called(functions: Iterable[ast.FunctionDef]) -> set[str]:
    return {name for function in functions for each in ast.walk(function) if (name := _own_method(each))}


def _own_method(node: ast.AST | None) -> str:
    """Return the name of the method that a call on `self` or `super()` names; empty of anything else."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self") | ast.Call(func=ast.Name(id="super")), attr=name)):
            return name
        case _:
            return ""
