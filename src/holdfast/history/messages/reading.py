"""The messages in one release's modules."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from holdfast.catalog.messages.templates import MessageTemplate
from holdfast.history.messages.coverage import keeps_messages
from holdfast.history.messages.templates import templates_of
from holdfast.history.modules import Constant, PackageModules
from holdfast.history.values import dotted, last_name

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

LOGGED: Final[Mapping[str, str]] = {
    "warning": "warning",
    "warning_once": "warning",
    "warning_advice": "warning",
    "warn": "warning",
    "error": "error",
    "critical": "error",
    "exception": "error",
}
"""Methods of loggers, and the level."""
LOGGERS: Final = frozenset({"logger", "logging", "log", "_logger", "LOGGER"})
COMPUTED: Final = ast.List([])
"""Stands for any expression that is no text."""
SPELLED: Final[Mapping[str, str]] = {"EnvironmentError": "OSError", "IOError": "OSError"}
"""Older names of an exception: a traceback names the one that it has."""
WARN: Final = frozenset({"warnings.warn", "warn"})
WARNING: Final = "UserWarning"
"""What `warnings.warn` warns of where nothing else is said."""


def read_messages(package: str, sources: Mapping[str, bytes]) -> set[MessageTemplate]:
    """Return every message that a release raises, warns of, or logs as a warning or an error.

    Args:
        package: Its import name.
        sources: The bytes of each of its modules by path, `trl/trainer/sft_config.py`.
    """
    modules = PackageModules(package, sources)
    found: set[MessageTemplate] = set()
    for module in modules.files:
        read = modules.module(module) if keeps_messages(package, module) else None
        if read and read.tree:
            found.update(_StatementReader(modules, module).read(read.tree.body, _Place()))
    return found


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a statement stands.

    Attributes:
        names: Of the classes and functions around it, the outermost first.
        assigned: What the function around it puts into names.
        error: The class around it, if that is an exception.
    """

    names: tuple[str, ...] = ()
    assigned: Mapping[str, tuple[ast.expr, ...]] = field(default_factory=dict[str, tuple[ast.expr, ...]])
    error: str = ""


class _StatementReader:
    """Reads the statements of a module."""

    def __init__(self, package: PackageModules, module: str) -> None:
        self.package, self.module = package, module

    def read(self, body: Iterable[ast.stmt], place: _Place) -> Iterator[MessageTemplate]:
        for statement in body:
            match statement:
                case ast.ClassDef(name=name):
                    yield from self.read(statement.body, _Place((*place.names, name), error=_error(statement)))
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    inside = {**place.assigned, **_assigned(statement)}
                    yield from self.read(statement.body, _Place((*place.names, name), inside, place.error))
                case _:
                    yield from self._messages(statement, place)
                    for block in _blocks(statement):
                        yield from self.read(block, place)

    def _messages(self, statement: ast.stmt, place: _Place) -> Iterator[MessageTemplate]:
        for kind, node, percent in _statement_messages(statement, place.error):
            for template in templates_of(node, lambda name: self._values(name, place), percent=percent):
                home = self.module.partition(".")[2]
                yield MessageTemplate(kind, template, f"{home}:{'.'.join(place.names)}")

    def _values(self, name: str, place: _Place) -> Iterable[ast.expr]:
        """Return the expressions that a name may stand for: those that the function assigns to it, or a constant of the module."""
        if name in place.assigned:
            return place.assigned[name]
        found = self.package.resolve(self.module, name) if name.isupper() or name[:1] == "_" else None
        return (found.value,) if isinstance(found, Constant) else ()


def _statement_messages(statement: ast.stmt, error: str) -> Iterator[tuple[str, ast.expr, bool]]:
    """Yield the messages of a statement: the kind, the message, and whether a logger formats values into it."""
    match statement:
        case ast.Raise(exc=ast.Call(func=raised, args=[message, *_])):
            yield SPELLED.get(last_name(raised), last_name(raised)), message, False
        case ast.Assert(msg=ast.expr() as message):
            yield "AssertionError", message, False
        case ast.Expr(value=ast.Call(args=[_, *_]) as call):
            yield from _call_messages(call, error)
        case _:
            return


def _call_messages(call: ast.Call, error: str) -> Iterator[tuple[str, ast.expr, bool]]:
    """Likewise of a call: a warning, a line of a logger, or the message that an exception gives its base."""
    called = call.func
    message, *values = call.args
    if dotted(called) in WARN:
        yield _category(call), message, False
    elif isinstance(called, ast.Attribute) and called.attr in LOGGED and last_name(called.value) in LOGGERS:
        yield LOGGED[called.attr], message, bool(values)
    elif error and ast.unparse(called) == "super().__init__":
        yield error, message, False


def _category(call: ast.Call) -> str:
    given = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "category")]
    return last_name(given[0]) if given and last_name(given[0]) else WARNING


def _error(statement: ast.ClassDef) -> str:
    """Return the name of a class of exceptions; empty of another one."""
    return statement.name if any(last_name(base).endswith(("Error", "Exception")) for base in statement.bases) else ""


def _assigned(function: FunctionNode) -> dict[str, tuple[ast.expr, ...]]:
    """Return the texts that a function assigns to names; of one that grows, the beginning, and a hole.

    A name that is given something else too, as a parameter for one, may also stand for a hole.
    """
    nodes = list(ast.walk(function))
    grown = {each.target.id for each in nodes if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name)}
    bound = Counter(_bound_names(function))
    return {
        name: _with_holes(texts, grows=name in grown, others=bound[name] - len(texts))
        for name, texts in _texts_by_name(nodes).items()
    }


def _bound_names(function: FunctionNode) -> Iterator[str]:
    """Yield the parameters of a function, and each name as often as it is given a value."""
    yield from (each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg))
    yield from (
        each.id for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    )


def _texts_by_name(nodes: Iterable[ast.AST]) -> dict[str, tuple[ast.expr, ...]]:
    """Return the texts that are assigned to each name, in their order."""
    texts: dict[str, tuple[ast.expr, ...]] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_text(value):
                texts[name] = (*texts.get(name, ()), value)
            case _:
                pass
    return texts


def _with_holes(texts: tuple[ast.expr, ...], *, grows: bool, others: int) -> tuple[ast.expr, ...]:
    """Return the texts that a name may stand for, with holes for what is added to them, or is assigned besides."""
    if grows:
        return tuple(ast.BinOp(text, ast.Add(), COMPUTED) for text in texts)
    return (*texts, COMPUTED) if others > 0 else texts


def _is_text(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.BinOp(left=left):
            return _is_text(left)
        case ast.Call(func=ast.Attribute(value=value)):
            return _is_text(value)
        case _:
            return False


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the statements inside a statement that is no class and no function."""
    for name in ("body", "orelse", "finalbody"):
        if block := getattr(statement, name, None):
            yield block
    for handler in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield handler.body
