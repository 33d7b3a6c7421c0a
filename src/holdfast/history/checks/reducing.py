"""The checks of a constructor as a small program: what decides whether it raises, and nothing else.

Kept, in Python's own syntax: assignments whose right side is understood, conditions, errors with their words, warnings that
something is ignored, calls of the class's own methods that check, and of its base's. What is not understood becomes `...`:
a name that it may give a value is forgotten, a condition may hold or not. What cannot matter for an error is left out.

Two things are taken for granted: a function that is handed a configuration does not change its settings, and neither does
a method that only a base defines. `core.constructor_checks` runs the result.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from holdfast.history.checks.expressions import Expressions, Names
from holdfast.history.checks.slices import condition, may_raise_or_warn, sliced
from holdfast.history.checks.targets import (
    checks_itself,
    forgotten,
    is_own,
    matched,
    own_calls,
    own_targets,
    right_side,
    targets,
)
from holdfast.history.values import last_name

IGNORED: Final = re.compile(
    r"(will be|is|are|be) (ignored|overridden|overwritten)|no effect|ha(s|ve) no", re.IGNORECASE
)
"""Warnings that are kept; those that something is deprecated are found elsewhere."""

WARNERS: Final = frozenset({"warn", "warning", "warning_once", "warn_once"})
MUTATORS: Final = frozenset(
    {
        "add",
        "append",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "remove",
        "setdefault",
        "sort",
        "update",
    }
)
MOST_ROUNDS: Final = 16
"""Rounds of a loop over a written list that are written out."""
HOOK: Final = re.compile(r"_?(post_init|create_accelerator|(check|precompute|prepare_dataset|validate)\w*).*")
"""Methods that a base's constructor calls to check."""


def reduce_checks(cls: ast.ClassDef, method: ast.FunctionDef, names: Names) -> str | None:
    """Return a method's checks as a program, or None if it has none and hides none of a base.

    Args:
        cls: The class.
        method: Its `__init__` or `__post_init__`.
        names: What the names of its module stand for.
    """
    kept = _checking_methods(cls, method, names)
    if not cls.bases and not any(map(may_raise_or_warn, kept)):
        return None
    return "\n".join(ast.unparse(ast.fix_missing_locations(each)) for each in kept)


def _checking_methods(cls: ast.ClassDef, method: ast.FunctionDef, names: Names) -> Iterable[ast.FunctionDef]:
    """Return a method, the hooks that a base's constructor may call, and the methods that they call, all reduced."""
    methods = {each.name: each for each in cls.body if isinstance(each, ast.FunctionDef)}
    hooks = filter(HOOK.fullmatch, methods) if cls.bases else ()
    kept: dict[str, ast.FunctionDef] = {}
    for main in (method.name, *hooks):
        for each in _with_helpers(cls, methods, main, names):
            kept.setdefault(each.name, each)
    return kept.values()


def _with_helpers(
    cls: ast.ClassDef, methods: Mapping[str, ast.FunctionDef], main: str, names: Names
) -> list[ast.FunctionDef]:
    """Return a method and those that it calls, reduced."""
    reduced, waiting = dict[str, ast.FunctionDef](), {main}
    while waiting:
        name = waiting.pop()
        reduced[name] = _Reducer(methods, methods[name], names, cls).function()
        waiting |= (own_calls(reduced[name]) & set(methods)) - set(reduced)
    return sliced(main, reduced, is_dataclass=_is_dataclass(cls))


class _Reducer:
    """Reduces one method."""

    def __init__(
        self, methods: Mapping[str, ast.FunctionDef], method: ast.FunctionDef, names: Names, cls: ast.ClassDef
    ) -> None:
        self.methods, self.method = methods, method
        rest = (method.args.vararg, method.args.kwarg)
        self.rest = {each.arg for each in rest if each} - set(_bound_names(method))
        self.locals = {*_parameter_names(method), *_bound_names(method)}
        self.expressions = Expressions(names, self.locals, _settled(cls, names))

    def function(self) -> ast.FunctionDef:
        """Return the method with the body that matters."""
        body = list(self._block(self.method.body))
        spec, reduced = self.method.args, self.expressions.reduced
        own = [ast.arg("self")] if self._is_static() else []
        arguments = ast.arguments(
            posonlyargs=[],
            args=[*own, *map(_bare, spec.posonlyargs), *map(_bare, spec.args)],
            kwonlyargs=[*map(_bare, spec.kwonlyargs)],
            vararg=spec.vararg and _bare(spec.vararg),
            kwarg=spec.kwarg and _bare(spec.kwarg),
            kw_defaults=[each and reduced(each) for each in spec.kw_defaults],
            defaults=[*map(reduced, spec.defaults)],
        )
        return ast.FunctionDef(self.method.name, arguments, body, [])

    def _is_static(self) -> bool:
        return any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in self.method.decorator_list)

    def _block(self, statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
        for statement in statements:
            yield from self._statement(statement)

    def _statement(self, node: ast.stmt) -> Iterator[ast.stmt]:
        match node:
            case ast.If():
                return self._if(node)
            case ast.For() | ast.With():
                return self._for(node) if isinstance(node, ast.For) else self._with(node)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Delete():
                return self._assignments(node)
            case ast.Expr(value=ast.Call() as call):
                return self._called(call)
            case ast.Raise() | ast.Assert() | ast.Return():
                return self._end(node)
            case _:
                return self._lost(node)

    def _with(self, node: ast.With) -> Iterator[ast.stmt]:
        yield from forgotten(each.optional_vars for each in node.items if each.optional_vars)
        yield from self._block(node.body)

    def _if(self, node: ast.If) -> Iterator[ast.stmt]:
        yield from self._effects(node.test)
        test = self.expressions.reduced(node.test)
        body, orelse = list(self._block(node.body)), list(self._block(node.orelse))
        if body or orelse:
            yield condition(test, body, orelse)

    def _for(self, node: ast.For) -> Iterator[ast.stmt]:
        """Write out a loop over a written list; any other one is run an unknown number of times."""
        items = self.expressions.reduced(node.iter)
        rounds = items.elts if isinstance(items, ast.List | ast.Tuple) else None
        if rounds is None or len(rounds) > MOST_ROUNDS or _leaves_early(node):
            yield from self._lost(node)
            return
        for item in rounds:
            bound = dict(matched(node.target, item))
            yield from self._block(_Put(bound).visit(ast.parse(ast.unparse(each)).body[0]) for each in node.body)

    def _assignments(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Delete) -> Iterator[ast.stmt]:
        if isinstance(node, ast.Delete):
            yield from forgotten(node.targets)
            return
        value, targets = right_side(node)
        if value is None:
            return
        yield from self._effects(value)
        reduced = self._understood(value)
        for target in targets:
            yield from self._given(target, reduced)

    def _understood(self, value: ast.expr) -> ast.expr:
        """Return a value as far as it is understood: a call of an own method that checks, or an expression."""
        return self._own_call(value) or self.expressions.reduced(value)

    def _given(self, target: ast.expr, value: ast.expr) -> Iterator[ast.stmt]:
        """Yield the assignment of a value to something; a name that holds a tuple is taken apart."""
        match target, value:
            case ast.Name(), _:
                yield ast.Assign([target], value)
            case ast.Attribute(), _ if is_own(target):
                yield ast.Assign([target], value)
            case ast.Tuple(elts=parts), ast.Tuple(elts=each) if len(each) == len(parts):
                for part, one in zip(parts, each, strict=True):
                    yield from self._given(part, one)
            case ast.Tuple(elts=parts), ast.Name():
                for index, part in enumerate(parts):
                    yield from self._given(part, ast.Subscript(value, ast.Constant(index), ast.Load()))
            case _:
                yield from forgotten([target])

    def _called(self, call: ast.Call) -> Iterator[ast.stmt]:
        """Reduce a call that stands for itself."""
        match call:
            case ast.Call(func=ast.Name(id="setattr"), args=[owner, ast.Constant(value=str(name)), value]):
                yield from self._assignments(ast.Assign([ast.Attribute(owner, name, ast.Store())], value))
                return
            case ast.Call(func=ast.Name(id="setattr"), args=[owner, _, _]):
                yield from forgotten([ast.Attribute(owner, "__dict__", ast.Store())])
                return
            case ast.Call(func=function, args=[message, *_]) if last_name(function) in WARNERS:
                words = self.expressions.message(message)
                if IGNORED.search(ast.unparse(words)):
                    yield ast.Expr(ast.Call(ast.Name("warn"), [words], []))
                return
        own = self._own_call(call)
        if own:
            yield ast.Expr(own)
        yield from self._effects(call)

    def _own_call(self, node: ast.expr) -> ast.Call | None:
        """Return a call of a method of this class or of its base, with what is understood of its arguments."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name) as function) if name in self.methods:
                if not checks_itself(self.methods[name], self.methods):
                    return None
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super"))) as function):
                function = ast.Attribute(ast.Call(ast.Name("super"), [], []), function.attr, ast.Load())
            case _:
                return None
        positional = [self._handed_on(each) for each in node.args]
        named = [ast.keyword(each.arg, self._handed_on(each.value)) for each in node.keywords]
        return ast.Call(function, positional, named)

    def _handed_on(self, node: ast.expr) -> ast.expr:
        """Return an argument; `*args` and `**kwargs` that the method itself was given are handed on as they are."""
        match node:
            case ast.Starred(value=value):
                return ast.Starred(self._handed_on(value), ast.Load())
            case ast.Name(id=name) if name in self.rest:
                return node
            case _:
                return self.expressions.reduced(node)

    def _effects(self, node: ast.expr) -> Iterator[ast.stmt]:
        """Forget what the calls in an expression may change."""
        for each in ast.walk(node):
            match each:
                case ast.NamedExpr(target=target):
                    yield from forgotten([target])
                case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if name in self.methods:
                    if not checks_itself(self.methods[name], self.methods):
                        yield from forgotten(own_targets(self.methods[name], self.methods))
                case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in MUTATORS:
                    yield from forgotten([owner])

    def _end(self, node: ast.Raise | ast.Assert | ast.Return) -> Iterator[ast.stmt]:
        match node:
            case ast.Raise(exc=error):
                yield from self._raised(error)
            case ast.Assert(test=test, msg=message):
                words = self.expressions.message(ast.Constant("") if message is None else message)
                failed = ast.Call(ast.Name("AssertionError"), [words], [])
                yield condition(self.expressions.reduced(test), (), [ast.Raise(failed)])
            case ast.Return(value=ast.expr() as value):
                yield from self._effects(value)
                yield ast.Return(self._understood(value))
            case ast.Return():
                yield node

    def _raised(self, error: ast.expr | None) -> Iterator[ast.stmt]:
        match error:
            case ast.Call(func=function, args=[message, *_]):
                words = self.expressions.message(message)
            case ast.Call(func=function) | (ast.Name() as function):
                words = ast.Constant("")
            case _:
                return
        yield ast.Raise(ast.Call(ast.Name(last_name(function)), [words], []))

    def _lost(self, node: ast.stmt) -> Iterator[ast.stmt]:
        """Forget all that a statement may change; what it defines is never looked into."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return
        yield from forgotten(targets(node))
        for each in ast.walk(node):
            match each:
                case ast.Call(func=ast.Name(id="setattr"), args=[owner, ast.Constant(value=str(name)), _]):
                    yield from forgotten([ast.Attribute(owner, name, ast.Store())])
                case ast.Call(func=ast.Name(id="setattr"), args=[owner, *_]):
                    yield from forgotten([ast.Attribute(owner, "__dict__", ast.Store())])
                case ast.Call():
                    yield from self._effects(each)
                case _:
                    pass


class _Put(ast.NodeTransformer):
    """Puts values in the places of names."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)


def _leaves_early(node: ast.For) -> bool:
    return any(isinstance(each, ast.Break | ast.Continue | ast.Return) for each in ast.walk(node))


def _bare(argument: ast.arg) -> ast.arg:
    """Return a parameter without its annotation."""
    return ast.arg(argument.arg)


def _parameter_names(method: ast.FunctionDef) -> Iterator[str]:
    spec = method.args
    yield from (each.arg for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs))


def _bound_names(method: ast.FunctionDef) -> Iterator[str]:
    for each in ast.walk(method):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id


def _settled(cls: ast.ClassDef, names: Names) -> dict[str, ast.expr]:
    """Return the lists and tuples that a class holds under names of its own that are no fields, and its properties."""
    settled: dict[str, ast.expr] = {}
    for each in cls.body:
        match each:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                plain = names.rewritten(value)
                if isinstance(plain, ast.List | ast.Tuple):
                    settled[name] = plain
            case ast.FunctionDef(name=name, decorator_list=[ast.Name(id="property")]):
                if attribute := _returned_attribute(each):
                    settled[name] = attribute
            case _:
                pass
    return settled


def _returned_attribute(method: ast.FunctionDef) -> ast.expr | None:
    """Return the other attribute of `self` that a property does nothing but return."""
    match [part for part in method.body if not _is_docstring(part)]:
        case [ast.Return(value=ast.Attribute(value=ast.Name(id="self"), attr=held) as value)] if held != method.name:
            return value
        case _:
            return None


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_dataclass(cls: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(each) for each in cls.decorator_list)
