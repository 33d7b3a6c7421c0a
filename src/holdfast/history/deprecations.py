"""Warnings and refusals of single arguments, with the conditions that guard them.

The messages lie about versions ("will be removed in 4.46" went in 4.51), so only the code counts: a warning is there in
the releases that hold it.
"""

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.history.entries import ParameterEntry, Warned
from holdfast.history.modules import Constant
from holdfast.history.values import ConstantFolder, dotted, message_text

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

DEPRECATION: Final = re.compile(
    r"deprecat|will be removed|(?:been|is|was) (?:renamed|moved|removed)|(?:moved|renamed) to|no longer (?:supported|used)"
    r"|now located in",
    re.IGNORECASE,
)
QUOTED: Final = re.compile(r"[`'\"](?:--|\w+\.)?(\w+)(?:=[^`'\"]*)?[`'\"]")
WARNERS: Final = frozenset(
    {"warnings.warn", "logger.warning", "logger.warning_once", "logger.warn", "logging.warning", "warn"}
)
TYPES: Final = re.compile(r"\b(isinstance|type)\(")
LONGEST: Final = 300
"""Characters of a message; the first sentences say it."""
LONGEST_CONDITION: Final = 240


@dataclass(frozen=True, slots=True)
class ConditionalMessage:
    """One warning or raise, and the conditions on the way to it."""

    message: str
    conditions: tuple[ast.expr, ...]
    raises: bool


def find_warnings(
    scope: ConstantFolder, node: FunctionNode, parameters: Mapping[str, ParameterEntry], *, owners: Collection[str]
) -> Iterator[tuple[str, Warned]]:
    """Yield each parameter that a function warns of, with the warning.

    Args:
        scope: Where it stands.
        node: The function.
        parameters: What the call may give.
        owners: Names whose attributes are the parameters: `self` in a dataclass, nothing in a function.
    """
    for warned in _conditional_messages(node):
        if not DEPRECATION.search(warned.message) or not warned.conditions:
            continue
        if any(TYPES.search(ast.unparse(each)) for each in warned.conditions):
            continue  # it is about the type of a value
        name = _about(warned, parameters, owners)
        if name:
            condition = _condition(scope, warned.conditions, owners, (name, parameters[name].default))
            yield name, (warned.message[:LONGEST], condition, warned.raises)


def whole_deprecation(scope: ConstantFolder, node: FunctionNode) -> str | None:
    """Return the deprecation that every call reports; one that an environment variable can silence counts."""
    name = scope.module.rpartition(".")[2]
    for warned in _conditional_messages(node):
        always = all("environ" in ast.unparse(each) for each in warned.conditions)
        if always and not warned.raises and DEPRECATION.search(warned.message):
            own = node.name in warned.message or node.name.startswith("__") or name in warned.message
            return warned.message[:LONGEST] if own else None
    return None


def _conditional_messages(node: FunctionNode) -> Iterator[ConditionalMessage]:
    yield from _walk(node.body, ())


def _walk(body: list[ast.stmt], conditions: tuple[ast.expr, ...]) -> Iterator[ConditionalMessage]:
    for statement in body:
        match statement:
            case ast.If(test=test):
                yield from _walk(statement.body, (*conditions, test))
                yield from _walk(statement.orelse, (*conditions, ast.UnaryOp(ast.Not(), test)))
            case ast.With():
                yield from _walk(statement.body, conditions)
            case ast.Raise(exc=ast.Call(args=[message, *_])):
                yield ConditionalMessage(message_text(message), conditions, raises=True)
            case ast.Expr(value=ast.Call(func=function, args=[message, *_])) if dotted(function) in WARNERS:
                yield ConditionalMessage(message_text(message), conditions, raises=False)
            case _:
                pass  # a loop's or a try's warning depends on more than the arguments


def _about(
    message: ConditionalMessage, parameters: Mapping[str, ParameterEntry], owners: Collection[str]
) -> str | None:
    read = _read(message.conditions[-1], owners)
    hits = [name for name in parameters if name in read]
    words: list[str] = QUOTED.findall(message.message)
    quoted = [name for name in words if name in parameters or name in read]
    named = [name for name in quoted if name in hits]
    alone = hits[:1] if len(hits) == 1 and not quoted else []
    return next(iter((*named, *alone)), None)


def _read(condition: ast.expr, owners: Collection[str]) -> set[str]:
    """Return the parameters' names that a condition reads."""
    owned = {id(node.value) for node in ast.walk(condition) if isinstance(node, ast.Attribute)}
    names = {node.id for node in ast.walk(condition) if isinstance(node, ast.Name) and id(node) not in owned}
    attributes = {
        node.attr
        for node in ast.walk(condition)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in owners
    }
    return attributes if owners else names


def _condition(
    scope: ConstantFolder, conditions: tuple[ast.expr, ...], owners: Collection[str], about: tuple[str, str | None]
) -> str:
    """Return the conjunction of conditions over bare names; empty if it always holds for a value that was given."""
    parts = []
    for each in conditions:
        rewritten = _Bare(scope, owners, about).visit(ast.parse(ast.unparse(each), mode="eval").body)
        if not (isinstance(rewritten, ast.Constant) and rewritten.value is True):
            parts.append(scope.rewritten(rewritten))
    if not parts:
        return ""
    text = ast.unparse(parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts))
    return text if len(text) <= LONGEST_CONDITION else "..."


class _Bare(ast.NodeTransformer):
    """Rewrites `self.x` to `x`, and the comparison with a marker of "not given" to what it is for a given value."""

    def __init__(self, scope: ConstantFolder, owners: Collection[str], about: tuple[str, str | None]) -> None:
        self.scope, self.owners, self.about = scope, owners, about

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self.owners:
            return ast.Name(node.attr)
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        new = self.generic_visit(node)
        match new:
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq()]):
                marker = new.comparators[0]
                if (name, ast.unparse(marker)) == self.about and self._is_marker(marker):
                    return ast.Constant(isinstance(new.ops[0], ast.IsNot | ast.NotEq))
            case _:
                pass
        return new

    def _is_marker(self, node: ast.expr) -> bool:
        found = self.scope.package.resolve(self.scope.module, node.id) if isinstance(node, ast.Name) else None
        return isinstance(found, Constant) and isinstance(found.value, ast.Call)
