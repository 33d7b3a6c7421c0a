"""The value of a Python expression, where its source alone decides it; else `Unknown`.

Nothing is executed: only literals, containers, operators, f-strings and a few pure functions and methods are understood.
Three-valued: `x and False` is False whatever x is, and `Unknown` where that is not so.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from holdfast.core.job.document import Unknown

NameLookup = Callable[[ast.expr], Any]
"""Gives the value of a name, an attribute or a call that this module does not understand, or `Unknown`."""

UNKNOWN: Final = Unknown()
PADDED: Final = re.compile(r"\d{5}|\*|:[^}]*\{")
"""In a text that formats: a width of five digits, or one that is an argument."""
LONGEST: Final = 10_000
"""Elements or characters: what grows beyond is no setting, and not worth the memory (`"x" * 10**9`)."""

OPERATORS: Final[Mapping[type[ast.AST], Callable[..., Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
}
FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    each.__name__: each
    for each in (abs, all, any, bool, dict, float, int, len, list, max, min, round, set, sorted, str, sum, tuple)
}
CONVERSIONS: Final[Mapping[int, Callable[[Any], str]]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}
METHODS: Final = frozenset(
    {
        "capitalize",
        "endswith",
        "format",
        "get",
        "items",
        "join",
        "keys",
        "lower",
        "lstrip",
        "replace",
        "rsplit",
        "rstrip",
    }
    | {"split", "startswith", "strip", "title", "upper", "values"}
)
RAISED: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError, MemoryError)
SCALARS: Final = (str, bytes, int, float, complex, bool)
PLAIN: Final = (*SCALARS, list, tuple, dict, set, frozenset, type(None))


def evaluate(node: ast.expr, lookup: NameLookup = lambda _: UNKNOWN) -> Any:
    """Return the value of an expression, or `Unknown`; containers may hold `Unknown` values.

    Args:
        node: The expression.
        lookup: What gives the values of names, attributes and calls.

    >>> evaluate(ast.parse("4 * 2 if not [] else x", mode="eval").body)
    8
    """
    rule = RULES.get(type(node))
    if rule is None:
        return lookup(node)
    try:
        return rule(node, lookup)
    except RAISED:
        return UNKNOWN  # the expression raises, or is not what it looks like: not ours to judge


def is_known(value: Any) -> bool:
    """True if no part of a value is `Unknown`.

    >>> is_known({"a": [1, UNKNOWN]}), is_known({"a": [1, None]})
    (False, True)
    """
    if value is None or isinstance(value, SCALARS):
        return True
    if isinstance(value, Mapping):
        return all(is_known(part) for pair in value.items() for part in pair)
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(is_known, value))
    return not isinstance(value, Unknown)


def truth(value: Any) -> bool | Unknown:
    """True if a value counts as true, where that is known; a container is true if it holds anything."""
    if isinstance(value, Unknown) and value.holds is not None:
        return value.holds
    if isinstance(value, Unknown) or not isinstance(value, PLAIN):
        return reason_among([value])
    return bool(value)


def reason_among(values: Iterable[Any]) -> Unknown:
    """Return the first of some values that is not known: why what they yield is not known either."""
    return next((value for value in values if isinstance(value, Unknown)), UNKNOWN)


def apply_operator(symbol: ast.AST, *operands: Any) -> Any:
    """Return the result of an operator; `Unknown` where an operand is no plain value, or where it would raise.

    >>> apply_operator(ast.Add(), 1, 2), apply_operator(ast.Not(), [])
    (3, True)
    """
    given = [truth(operands[0])] if isinstance(symbol, ast.Not) else operands
    function = OPERATORS.get(type(symbol))
    return call_pure(function, given) if function else reason_among(given)


def join_lists(left: list[Any], right: list[Any]) -> list[Any] | Unknown:
    """Return two lists as one; `Unknown` if it is huge: a few lines that double a list would fill the memory.

    >>> join_lists([1], [2]), join_lists([0] * LONGEST, [0]) is UNKNOWN
    ([1, 2], True)
    """
    return left + right if len(left) + len(right) <= LONGEST else UNKNOWN


def compare(symbols: Sequence[ast.cmpop], operands: Sequence[Any]) -> Any:
    """Return the result of `a < b < c`: one comparison that is False decides, whatever the others are.

    >>> compare([ast.Lt(), ast.Lt()], [UNKNOWN, 2, 1])
    False
    """
    results = [apply_operator(symbol, *pair) for symbol, pair in zip(symbols, pairwise(operands), strict=True)]
    if any(result is False for result in results):
        return False
    return True if all(result is True for result in results) else reason_among(results)


def call_pure(function: Callable[..., Any], operands: Sequence[Any], /, **named: Any) -> Any:
    """Return the result of a function without effects for plain values; `Unknown` if it raises, or returns something huge."""
    given = (*operands, *named.values())
    if not all(map(_is_plain, given)) or _would_grow(function, operands):
        return reason_among(given)
    try:
        return _small(function(*operands, **named))
    except RAISED:
        return UNKNOWN


def pure_method(value: Any, name: str) -> Callable[..., Any] | None:
    """Return a method of a plain value that has no effects; None if there is none of that name."""
    known = isinstance(value, str) or (isinstance(value, dict) and is_known(value))
    return getattr(value, name, None) if known and name in METHODS else None


def _constant(node: ast.Constant, _: NameLookup) -> Any:
    return UNKNOWN if node.value is ... else node.value


def _sequence(node: ast.List | ast.Tuple | ast.Set, lookup: NameLookup) -> Any:
    values: list[Any] = []
    for element in node.elts:
        value = evaluate(element.value if isinstance(element, ast.Starred) else element, lookup)
        if not isinstance(element, ast.Starred):
            values.append(value)
        elif isinstance(value, list | tuple):
            values += value
        else:
            return UNKNOWN
    return {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)](values)


def _mapping(node: ast.Dict, lookup: NameLookup) -> Any:
    result: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        given = evaluate(value, lookup)
        if key is not None:
            name = evaluate(key, lookup)
            if not is_known(name):
                return UNKNOWN
            result[name] = given
        elif isinstance(given, dict):
            result |= given
        else:
            return UNKNOWN
    return result


def _unary(node: ast.UnaryOp, lookup: NameLookup) -> Any:
    return apply_operator(node.op, evaluate(node.operand, lookup))


def _binary(node: ast.BinOp, lookup: NameLookup) -> Any:
    return apply_operator(node.op, evaluate(node.left, lookup), evaluate(node.right, lookup))


def _boolean(node: ast.BoolOp, lookup: NameLookup) -> Any:
    """Return the operand that decides; after an unknown one, whether the whole counts as true may be all that is known."""
    decides = isinstance(node.op, ast.Or)
    unsure = False
    value: Any = UNKNOWN
    for operand in node.values:
        value = evaluate(operand, lookup)
        holds = truth(value)
        if holds is decides:
            return value if not unsure or value is decides else Unknown(holds=decides)
        unsure = unsure or isinstance(holds, Unknown)
    return UNKNOWN if unsure else value


def _comparison(node: ast.Compare, lookup: NameLookup) -> Any:
    return compare(node.ops, [evaluate(operand, lookup) for operand in (node.left, *node.comparators)])


def _conditional(node: ast.IfExp, lookup: NameLookup) -> Any:
    holds = truth(evaluate(node.test, lookup))
    if isinstance(holds, Unknown):
        return UNKNOWN
    return evaluate(node.body if holds else node.orelse, lookup)


def _f_string(node: ast.JoinedStr, lookup: NameLookup) -> Any:
    parts = [evaluate(part, lookup) for part in node.values]
    return "".join(parts) if all(isinstance(part, str) for part in parts) else UNKNOWN


def _formatted(node: ast.FormattedValue, lookup: NameLookup) -> Any:
    value = evaluate(node.value, lookup)
    spec = evaluate(node.format_spec, lookup) if node.format_spec else ""
    if not _is_plain(value) or isinstance(spec, Unknown):
        return UNKNOWN
    convert = CONVERSIONS.get(node.conversion)
    return call_pure(format, [convert(value) if convert else value, spec])


def _subscript(node: ast.Subscript, lookup: NameLookup) -> Any:
    value = evaluate(node.value, lookup)
    if not isinstance(value, str | list | tuple | dict) or isinstance(node.slice, ast.Slice):
        return lookup(node)
    index = evaluate(node.slice, lookup)
    return UNKNOWN if not is_known(index) else value[index]


def _call(node: ast.Call, lookup: NameLookup) -> Any:
    """Return the result of a pure builtin or a pure method of a plain value; the lookup evaluates other calls."""
    function = _pure(node.func, lookup)
    if function is None or any(keyword.arg is None for keyword in node.keywords):
        return lookup(node)
    positional = [evaluate(argument, lookup) for argument in node.args]
    keywords = {str(keyword.arg): evaluate(keyword.value, lookup) for keyword in node.keywords}
    if function is dict and not positional:
        return keywords
    return call_pure(function, positional, **keywords)


def _pure(node: ast.expr, lookup: NameLookup) -> Callable[..., Any] | None:
    if isinstance(node, ast.Name) and node.id in FUNCTIONS:
        shadowed = not isinstance(lookup(node), Unknown)
        return None if shadowed else FUNCTIONS[node.id]
    if isinstance(node, ast.Attribute) and node.attr in METHODS:
        return pure_method(evaluate(node.value, lookup), node.attr)
    return None


def _would_grow(function: Callable[..., Any], operands: Sequence[Any]) -> bool:
    """True if the result could be huge: a repeated sequence, a power, or a text padded to some width."""
    if PADDED.search(_pattern(function, operands)):
        return True
    numbers = [each for each in operands if isinstance(each, int | float)]
    repeats = function is operator.mul and any(isinstance(each, str | list | tuple | bytes) for each in operands)
    return (repeats or function is operator.pow) and any(abs(number) > LONGEST for number in numbers)


def _pattern(function: Callable[..., Any], operands: Sequence[Any]) -> str:
    """Return the text that says how others are formatted; empty if nothing is."""
    template: Any = getattr(function, "__self__", "") if getattr(function, "__name__", "") == "format" else ""
    if function is format and len(operands) > 1:
        template = operands[1]
    if function is operator.mod:
        template = operands[0]
    return template if isinstance(template, str) else ""


def _small(value: Any) -> Any:
    if isinstance(value, Iterator) or type(value).__name__.startswith("dict_"):
        value = list(value)
    return UNKNOWN if hasattr(value, "__len__") and len(value) > LONGEST else value


def _is_plain(value: Any) -> bool:
    return isinstance(value, PLAIN) and is_known(value)


RULES: Final[Mapping[type[ast.expr], Callable[[Any, NameLookup], Any]]] = {
    ast.Constant: _constant,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _mapping,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.Compare: _comparison,
    ast.IfExp: _conditional,
    ast.JoinedStr: _f_string,
    ast.FormattedValue: _formatted,
    ast.Subscript: _subscript,
    ast.Call: _call,
}
