"""Expressions of a check as far as they can be understood without running them; `...` for the rest."""

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from holdfast.core.job.expressions import FUNCTIONS, METHODS
from holdfast.history.values import last_name

UNKNOWN: Final = ast.Constant(...)
MOST_MEMBERS: Final = 24
"""Members of an enum; the longer ones (optimizers, schedulers) hardly stand in a condition."""
LONGEST_MESSAGE: Final = 300
ASKED: Final = frozenset({"isinstance", "is_peft_model"})
ADAPTED: Final = "get_peft_model"
ADAPTING: Final = frozenset({ADAPTED, "prepare_peft_model"})
"""What gives a model with an adapter; only that is known of it."""

VERSIONS: Final = frozenset({"Version", "parse"})


class Names(Protocol):
    """What the names of a module stand for; `extract.values.Scope` is one."""

    def rewritten(self, node: ast.expr) -> ast.expr:
        """Return an expression with constants and members of enums by their values."""
        ...

    def enum(self, node: ast.expr) -> dict[str, str] | None:
        """Return the members of the enum of strings that an expression names."""
        ...


@dataclass(frozen=True, slots=True)
class Expressions:
    """Reduces the expressions of one class.

    Attributes:
        names: What the names of its module stand for.
        locals: Names that its methods bind, parameters among them.
        settled: Attributes of its own that are settled in its body, such as `_VALID_DICT_FIELDS`, and properties.
    """

    names: Names
    locals: Collection[str]
    settled: Mapping[str, ast.expr]

    def reduced(self, node: ast.expr) -> ast.expr:
        """Return an expression with `...` in place of what is not understood."""
        for kinds, rule in RULES.items():
            if isinstance(node, kinds):
                reduced: ast.expr = rule(self, node)
                return reduced
        return UNKNOWN

    def message(self, node: ast.expr) -> ast.expr:
        """Return an error's words, cut where they grow long."""
        reduced = self.reduced(node)
        kept = list(_cut(reduced.values if isinstance(reduced, ast.JoinedStr) else [reduced]))
        return kept[0] if len(kept) == 1 and not isinstance(kept[0], ast.FormattedValue) else ast.JoinedStr(kept)

    def constant(self, node: ast.Constant) -> ast.expr:
        """Return a constant; bytes are none that a setting could have."""
        return UNKNOWN if isinstance(node.value, bytes) else node

    def name(self, node: ast.Name | ast.Attribute) -> ast.expr:
        """Return a name that may be known when the program runs, or the value of one that a module settles."""
        match node:
            case ast.Name(id=name) if name in self.locals:
                return node
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in self.settled:
                return self.reduced(self.settled[name])
            case ast.Attribute() if self._is_reachable(node):
                return node
            case ast.Attribute(value=ast.Call(func=ast.Name(id="type"), args=[of]), attr="__name__"):
                inner = self.reduced(of)
                whole = ast.Attribute(ast.Call(ast.Name("type"), [inner], []), "__name__", ast.Load())
                return UNKNOWN if is_unknown(inner) else whole
            case _:
                return self._settled(node)

    def _settled(self, node: ast.Name | ast.Attribute) -> ast.expr:
        """Return the expression that a module's name stands for: a constant, or the values of an enum's members."""
        match node:
            case ast.Name() if members := self.names.enum(node):
                return ast.List(_constants(members.values()), ast.Load())
            case ast.Attribute(value=ast.Name() as enum, attr="__members__") if members := self.names.enum(enum):
                return ast.Dict(list(_constants(members)), _constants(members.values()))
            case _:
                constant = self.names.rewritten(node)
                return constant if _is_literal(constant) and not _is_flag(constant) else UNKNOWN

    def _is_reachable(self, node: ast.Attribute) -> bool:
        """True if an attribute may be known: one of the object itself, or of what is called its arguments."""
        path = ast.unparse(node).split(".")
        holders = path[:-1]
        return holders[0] in self.locals and holders in (["self"], ["args"], ["config"], ["self", "args"])

    def call(self, node: ast.Call) -> ast.expr:
        """Return a call of something pure that is understood."""
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(name)), *_]):
                return self.reduced(ast.Attribute(owner, name, ast.Load()))
            case ast.Call(func=ast.Name() | ast.Attribute(attr="parse"), args=[version]) if (
                last_name(node.func) in VERSIONS
            ):
                return self._version(version)
            case ast.Call(func=ast.Name() as enum, args=[value], keywords=[]) if members := self.names.enum(enum):
                return self._choice(self.reduced(value), members)
            case ast.Call(func=ast.Name(id=name)) if name in ADAPTING:
                return ast.Call(ast.Name(ADAPTED), [], [])
            case _:
                function = self._function(node.func)
                return UNKNOWN if is_unknown(function) else self._arguments(function, node)

    def _function(self, node: ast.expr) -> ast.expr:
        """Return a function or a method of a plain value that has no effects."""
        match node:
            case ast.Name(id=name) if name in ASKED or (name in FUNCTIONS and name not in self.locals):
                return node
            case ast.Attribute(value=owner, attr=name) if name in METHODS:
                inner = self.reduced(owner)
                return UNKNOWN if is_unknown(inner) else ast.Attribute(inner, name, ast.Load())
            case _:
                return UNKNOWN

    def _arguments(self, function: ast.expr, node: ast.Call) -> ast.expr:
        if _unpacks(node):
            return UNKNOWN
        given = self._positional(node)
        named = [ast.keyword(each.arg, self.reduced(each.value)) for each in node.keywords]
        lost = any(map(is_unknown, (*given, *(each.value for each in named))))
        return UNKNOWN if lost else ast.Call(function, given, named)

    def _positional(self, node: ast.Call) -> list[ast.expr]:
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[value, kinds]):
                return [self.reduced(value), _short(kinds)]
            case _:
                return [self.reduced(each) for each in node.args]

    def _version(self, version: ast.expr) -> ast.expr:
        match version:
            case ast.Attribute(value=ast.Name(id=package), attr="__version__"):
                return ast.Call(ast.Name("version_of"), [ast.Constant(package)], [])
            case ast.Constant(value=str()):
                return ast.Call(ast.Name("Version"), [version], [])
            case _:
                return UNKNOWN

    @staticmethod
    def _choice(value: ast.expr, members: Mapping[str, str]) -> ast.expr:
        if len(members) > MOST_MEMBERS or is_unknown(value):
            return value
        named = [ast.keyword(name, ast.Constant(member)) for name, member in members.items()]
        return ast.Call(ast.Name("choice"), [value], named)

    def junction(self, node: ast.BoolOp) -> ast.expr:
        """Return a condition with `and` or `or`, which may be decided although an operand is unknown."""
        return _joined(node.op, map(self.reduced, node.values))

    def operation(self, node: ast.UnaryOp | ast.BinOp) -> ast.expr:
        """Return an operation; unknown where an operand is."""
        match node:
            case ast.UnaryOp(op=op, operand=operand):
                return _or_unknown(ast.UnaryOp(op, self.reduced(operand)))
            case ast.BinOp(left=left, op=op, right=right):
                return _or_unknown(ast.BinOp(self.reduced(left), op, self.reduced(right)))

    def comparison(self, node: ast.Compare) -> ast.expr:
        """Return a comparison; that of a text by `is` is one by `==`."""
        operands = [self.reduced(each) for each in node.comparators]
        same: list[ast.cmpop] = [
            ast.Eq() if isinstance(op, ast.Is) and _is_text(operand) else op
            for op, operand in zip(node.ops, operands, strict=True)
        ]
        return _or_unknown(ast.Compare(self.reduced(node.left), same, operands))

    def alternative(self, node: ast.IfExp) -> ast.expr:
        """Return one of two values; unknown where the condition is."""
        test, body, orelse = (self.reduced(each) for each in (node.test, node.body, node.orelse))
        return UNKNOWN if is_unknown(test) else ast.IfExp(test, body, orelse)

    def sequence(self, node: ast.List | ast.Tuple | ast.Set) -> ast.expr:
        """Return a list, a tuple or a set; its elements may be unknown."""
        if any(isinstance(each, ast.Starred) for each in node.elts):
            return UNKNOWN
        parts = [self.reduced(each) for each in node.elts]
        return ast.Set(parts) if isinstance(node, ast.Set) else type(node)(parts, ast.Load())

    def mapping(self, node: ast.Dict) -> ast.expr:
        """Return a dictionary; its keys and values may be unknown."""
        keys = [self.reduced(key) for key in node.keys if key]
        if len(keys) < len(node.keys):  # `{**other}`
            return UNKNOWN
        return ast.Dict(list(keys), [self.reduced(value) for value in node.values])

    def _part(self, part: ast.expr) -> ast.expr:
        if not isinstance(part, ast.FormattedValue):
            return part
        return ast.FormattedValue(self.reduced(part.value), part.conversion, part.format_spec)

    def text(self, node: ast.JoinedStr) -> ast.expr:
        """Return a text with values in it."""
        return ast.JoinedStr([self._part(part) for part in node.values])

    def subscript(self, node: ast.Subscript) -> ast.expr:
        """Return an element of something."""
        if isinstance(node.slice, ast.Slice):
            return UNKNOWN
        return _or_unknown(ast.Subscript(self.reduced(node.value), self.reduced(node.slice), ast.Load()))

    def comprehension(self, node: ast.GeneratorExp | ast.ListComp | ast.SetComp) -> ast.expr:
        """Return the list of results for the elements of one list."""
        match node.generators:
            case [ast.comprehension(target=ast.Name(id=name) as target, iter=items, ifs=[])]:
                inside = Expressions(self.names, {*self.locals, name}, self.settled)
                over, element = self.reduced(items), inside.reduced(node.elt)
                if is_unknown(over) or is_unknown(element):
                    return UNKNOWN
                return type(node)(element, [ast.comprehension(target, over, [], 0)])
            case _:
                return UNKNOWN


RULES: Final[Mapping[tuple[type[ast.expr], ...], Callable[[Expressions, Any], ast.expr]]] = {
    (ast.Constant,): Expressions.constant,
    (ast.Name, ast.Attribute): Expressions.name,
    (ast.Call,): Expressions.call,
    (ast.BoolOp,): Expressions.junction,
    (ast.UnaryOp, ast.BinOp): Expressions.operation,
    (ast.Compare,): Expressions.comparison,
    (ast.IfExp,): Expressions.alternative,
    (ast.List, ast.Tuple, ast.Set): Expressions.sequence,
    (ast.Dict,): Expressions.mapping,
    (ast.JoinedStr,): Expressions.text,
    (ast.Subscript,): Expressions.subscript,
    (ast.GeneratorExp, ast.ListComp, ast.SetComp): Expressions.comprehension,
}


def is_unknown(node: ast.expr) -> bool:
    """True if nothing of an expression is understood."""
    return isinstance(node, ast.Constant) and node.value is ...


def fold(node: ast.expr) -> ast.expr:
    """Return an expression, of whose parts some are unknown, as unknown where that is so of the whole."""
    match node:
        case ast.BoolOp(op=op, values=values):
            return _joined(op, values)
        case ast.UnaryOp() | ast.BinOp() | ast.Compare() | ast.Subscript() | ast.Attribute():
            return _or_unknown(node)
        case _:
            return UNKNOWN if any(map(is_unknown, _deciding(node))) else node


def _deciding(node: ast.expr) -> Iterable[ast.expr]:
    """Return the parts without which nothing is known of an expression."""
    match node:
        case ast.IfExp(test=test):
            return [test]
        case ast.Call(func=ast.Name(), args=given, keywords=named):
            return [*given, *(each.value for each in named)]
        case ast.Call(func=ast.Attribute(value=owner)):
            return [owner]
        case ast.GeneratorExp(generators=[one]) | ast.ListComp(generators=[one]) | ast.SetComp(generators=[one]):
            return [one.iter, node.elt]
        case _:
            return []


def can_be(node: ast.expr, *, holds: bool) -> bool:
    """True if a condition can ever be known to hold, or known not to."""
    match node:
        case ast.Constant(value=value):
            return value is not ... and bool(value) is holds
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return can_be(operand, holds=not holds)
        case ast.BoolOp(op=op, values=values):
            every = isinstance(op, ast.And) is holds
            return (all if every else any)(can_be(each, holds=holds) for each in values)
        case _:
            return True


def reads(node: ast.AST) -> Iterator[str]:
    """Yield the dotted names that stand in an expression or a statement, and what they begin with."""
    if isinstance(node, ast.Name | ast.Attribute):
        yield ast.unparse(node)
    for child in ast.iter_child_nodes(node):
        yield from reads(child)


def _joined(op: ast.boolop, values: Iterable[ast.expr]) -> ast.expr:
    """Return a condition of several; where some are unknown, one `...` stands for all of them."""
    values = list(values)
    kept = [each for each in values if not is_unknown(each)]
    if not kept:
        return UNKNOWN
    if len(kept) < len(values):
        kept.append(UNKNOWN)
    return kept[0] if len(kept) == 1 else ast.BoolOp(op, kept)


def _or_unknown(node: ast.expr) -> ast.expr:
    lost = any(isinstance(child, ast.expr) and is_unknown(child) for child in ast.iter_child_nodes(node))
    return UNKNOWN if lost else node


def _is_literal(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return value is not ...
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return all(map(_is_literal, parts))
        case _:
            return False


def _is_flag(node: ast.expr) -> bool:
    """True if a module's constant may well be given another value in another place: `_AVAILABLE = False`."""
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _cut(parts: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """Yield the parts of a text until it grows long; the last one is cut at a word."""
    room = LONGEST_MESSAGE
    for part in parts:
        match part:
            case ast.Constant(value=str(text)):
                yield ast.Constant(text if len(text) <= room else f"{text[:room].rpartition(' ')[0]} …")
                room -= len(text)
            case _:
                yield part
        if room <= 0:
            return


def _constants(values: Iterable[str]) -> list[ast.expr]:
    return [ast.Constant(each) for each in values]


def _unpacks(call: ast.Call) -> bool:
    """True of a call with `*` or `**`."""
    return any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords)


def _short(kinds: ast.expr) -> ast.expr:
    """Return classes by their last names."""
    match kinds:
        case ast.Attribute(attr=name):
            return ast.Name(name)
        case ast.Tuple(elts=parts):
            return ast.Tuple([_short(part) for part in parts], ast.Load())
        case _:
            return kinds
