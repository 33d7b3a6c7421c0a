"""Evaluates expressions: one function for each kind of node; `calls.py` has calls."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Final

from holdfast.adapters.readers.script.functions import enter
from holdfast.adapters.readers.script.guards import IN_VERSION_BRANCH, INTROSPECTION, named_reason, note_rivals
from holdfast.adapters.readers.script.join import joined
from holdfast.adapters.readers.script.objects import attribute_of, known_not_none, settled
from holdfast.adapters.readers.script.reading import DEAD, ExpressionHandler, ReadingState
from holdfast.adapters.readers.script.reads import note_read, settings_in
from holdfast.adapters.readers.script.record import CallArguments
from holdfast.adapters.readers.script.values import (
    BRANCHES,
    COMMAND_LINE,
    INSTALLED,
    PARAMETER,
    VERSION,
    BoundMethod,
    KnownItems,
    Member,
    ObjectValue,
    ProgramFunction,
    Ref,
    Slot,
    why,
)
from holdfast.core.job.calls import Guard, LibraryName
from holdfast.core.job.document import FROM_ENVIRONMENT, Unknown
from holdfast.core.job.expressions import (
    CONVERSIONS,
    UNKNOWN,
    apply_operator,
    call_pure,
    compare,
    join_lists,
    reason_among,
    truth,
)

CONSTANTS: Final[Mapping[str, Any]] = {"os.sep": "/", "os.path.sep": "/"}
"""Names of libraries whose value is known."""


def _constant(_: ReadingState, node: ast.Constant) -> Any:
    return UNKNOWN if node.value is ... else node.value


def _name(reading: ReadingState, node: ast.Name) -> Any:
    return reading_of(reading.lookup(node.id), node.id)


def reading_of(value: Any, name: str) -> Any:
    """Return the value of a name or an attribute; what is said of a version by name alone is of unknown value."""
    if name == "TYPE_CHECKING" and isinstance(value, LibraryName | Unknown):
        return False  # no run of the program has it otherwise
    if isinstance(value, LibraryName):
        return VERSION if value.path.rpartition(".")[2] in INTROSPECTION else CONSTANTS.get(value.path, value)
    if isinstance(value, Unknown) and value not in INSTALLED:
        return named_reason(name) or value
    return value


def _attribute(reading: ReadingState, node: ast.Attribute) -> Any:
    owner = reading.value(node.value)
    note_read(reading, owner, node)
    if isinstance(owner, ObjectValue):
        _note_origin(reading, owner, node)
    found = reading_of(attribute_of(reading, owner, node.attr), node.attr)
    if isinstance(found, BoundMethod) and found.function.kind == "property":
        return enter(reading, found.function, CallArguments(), found.receiver)
    if isinstance(found, LibraryName) and found.path == "sys.argv":
        return COMMAND_LINE if reading.argv is None else [reading.scope.module.places.path, *reading.argv]
    return found


def _note_origin(reading: ReadingState, owner: ObjectValue, node: ast.Attribute) -> None:
    """Note an attribute of settings that the command line may give a value."""
    reading.origins.pop(id(node), None)
    arguments = owner.library_call.arguments if owner.library_call else {}
    slot = reading.entries(owner.address).slots.get(node.attr) or arguments.get(node.attr)
    if slot and (slot.option or (slot.place and slot.place in reading.argv_places)):
        reading.origins[id(node)] = slot


def _elements(reading: ReadingState, nodes: Sequence[ast.expr]) -> list[Any] | Unknown:
    values: list[Any] = []
    hidden: Unknown | None = None
    for node in nodes:
        value = reading.value(node.value if isinstance(node, ast.Starred) else node)
        if not isinstance(node, ast.Starred):
            values.append(value)
        elif isinstance(value, list | tuple):
            values += value
        else:
            hidden = reason_among([value])
    return values if hidden is None else hidden


def _list(reading: ReadingState, node: ast.List) -> Any:
    return _elements(reading, node.elts)


def _tuple(reading: ReadingState, node: ast.Tuple) -> Any:
    values = _elements(reading, node.elts)
    return values if isinstance(values, Unknown) else tuple(values)


def _set(reading: ReadingState, node: ast.Set) -> Any:
    values = _elements(reading, node.elts)
    plain = not isinstance(values, Unknown) and all(isinstance(value, str | int | float) for value in values)
    return set(values) if plain and not isinstance(values, Unknown) else reason_among([values])


def _dict(reading: ReadingState, node: ast.Dict) -> Any:
    entries = KnownItems()
    for key, value in zip(node.keys, node.values, strict=True):
        given = reading.value(value)
        if key is None:
            entries = entries.merged(
                reading.entries(given.address) if isinstance(given, Ref) else KnownItems(open=True)
            )
            continue
        name = reading.value(key)
        if isinstance(name, str | int | float | None):
            entries = entries.with_slot(name, Slot(given, reading.place(value), reading.place(key)))
        else:  # any name, also one that is there already
            entries = entries.opened(reason_among([name]))
    return reading.fresh(entries)


def _unary(reading: ReadingState, node: ast.UnaryOp) -> Any:
    value = reading.value(node.operand)
    if (
        isinstance(node.op, ast.Not)
        and known_not_none(value)
        and isinstance(value, ObjectValue | ProgramFunction | LibraryName)
    ):
        return UNKNOWN
    return apply_operator(node.op, settled(reading, value))


def _binary(reading: ReadingState, node: ast.BinOp) -> Any:
    left, right = reading.value(node.left), reading.value(node.right)
    if isinstance(left, Ref) and isinstance(right, Ref) and isinstance(node.op, ast.BitOr):
        return reading.fresh(reading.entries(left.address).merged(reading.entries(right.address)))
    if isinstance(left, list) and isinstance(right, list) and isinstance(node.op, ast.Add):
        return join_lists(left, right)
    return apply_operator(node.op, settled(reading, left), settled(reading, right))


def _boolean(reading: ReadingState, node: ast.BoolOp) -> Any:
    """Return the operand that decides. What follows it is not reached; what follows a version may not be."""
    decides = isinstance(node.op, ast.Or)
    unsure: list[Unknown] = []
    value: Any = UNKNOWN
    for number, operand in enumerate(node.values, start=1):
        with reading.guarded(_guard_after(unsure)):
            value = reading.value(operand)
        holds = truth(settled(reading, value))
        if holds is decides:
            _read_unreached(reading, node.values[number:])
            return _deciding_value(value, unsure, decides=decides)
        if isinstance(holds, Unknown):
            unsure.append(holds)
    return why(unsure) if unsure else value


def _deciding_value(value: Any, unsure: Sequence[Unknown], *, decides: bool) -> Any:
    """Return what an operand yields that decides; after one that is not known, only its truth is known."""
    return Unknown(holds=decides) if unsure and value is not decides else value


def _read_unreached(reading: ReadingState, operands: Sequence[ast.expr]) -> None:
    with reading.guarded(DEAD):
        for operand in operands:
            reading.value(operand)


def _guard_after(operands: Sequence[Any]) -> Guard:
    return IN_VERSION_BRANCH if why(operands) in INSTALLED else Guard()


def _comparison(reading: ReadingState, node: ast.Compare) -> Any:
    values = [reading.value(operand) for operand in (node.left, *node.comparators)]
    if isinstance(values[0], str) and isinstance(node.ops[0], ast.In | ast.NotIn):
        reading.asked.add(values[0])
    differs = _differs_from_none(node, values)
    if differs is not None:
        return differs
    if _tests_for_an_attribute(reading, node):
        return VERSION
    return _compared(reading, node.ops, values)


def _compared(reading: ReadingState, operators: Sequence[ast.cmpop], values: Sequence[Any]) -> Any:
    """Return what a comparison of values yields; where it depends on what is installed, that."""
    plain = [settled(reading, value) for value in values]
    reason = why(plain)
    return reason if reason in INSTALLED else compare(operators, plain)


def _differs_from_none(node: ast.Compare, values: Sequence[Any]) -> bool | None:
    """Return what a comparison of something with None yields; None if it is no such comparison."""
    match node.ops, values:
        case ([ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq() as op], [None, other] | [other, None]) if known_not_none(
            other
        ):
            return isinstance(op, ast.IsNot | ast.NotEq)
        case _:
            return None


def _tests_for_an_attribute(reading: ReadingState, node: ast.Compare) -> bool:
    """True if a comparison tests which attributes settings have: `"max_length" in vars(args)`."""
    match node:
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Attribute(value=owner, attr="__dict__")]):
            pass
        case ast.Compare(
            ops=[ast.In() | ast.NotIn()], comparators=[ast.Call(func=ast.Name("vars" | "dir" | "asdict"), args=[owner])]
        ):
            pass
        case _:
            return False
    return any(thing.is_instance for thing in settings_in(reading.value(owner)))


def _conditional(reading: ReadingState, node: ast.IfExp) -> Any:
    holds = truth(settled(reading, reading.value(node.test)))
    around = IN_VERSION_BRANCH if holds in INSTALLED else Guard()
    values, logs = [], []
    for branch, taken in ((node.body, True), (node.orelse, False)):
        begin = len(reading.log)
        with reading.guarded(around if isinstance(holds, Unknown) or holds is taken else DEAD):
            values.append(reading.value(branch))
        logs.append(reading.log[begin:])
    if not isinstance(holds, Unknown):
        return values[0] if holds else values[1]
    note_rivals(logs)
    return joined(values[0], values[1], holds if holds in INSTALLED else BRANCHES)


def _f_string(reading: ReadingState, node: ast.JoinedStr) -> Any:
    parts = [reading.value(part) for part in node.values]
    return "".join(parts) if all(isinstance(part, str) for part in parts) else reason_among(parts)


def _formatted(reading: ReadingState, node: ast.FormattedValue) -> Any:
    value = settled(reading, reading.value(node.value))
    spec = reading.value(node.format_spec) if node.format_spec else ""
    convert = CONVERSIONS.get(node.conversion)
    given = call_pure(convert, [value]) if convert else value
    return call_pure(format, [given, spec])


def _subscript(reading: ReadingState, node: ast.Subscript) -> Any:
    value, index = reading.value(node.value), reading.value(node.slice)
    match value:
        case Ref():
            return _entry(reading, value, index)
        case LibraryName():
            return FROM_ENVIRONMENT if value.path == "os.environ" else UNKNOWN
        case ObjectValue() | Member():
            return item_of(value, index)
        case str() | list() | tuple() if isinstance(index, int):
            return _element(value, index)
    return reason_among([value, index])


def _entry(reading: ReadingState, held: Ref, name: Any) -> Any:
    """Return the value of a dict's item."""
    known = isinstance(name, str | int | float | None)
    slot = reading.entries(held.address).slots.get(name) if known else None
    return slot.value if slot else reason_among([name])


def _element(value: str | list[Any] | tuple[Any, ...], index: int) -> Any:
    return value[index] if -len(value) <= index < len(value) else UNKNOWN


def item_of(value: ObjectValue | Member, index: Any = None) -> Member:
    """Return an item of a thing, or of a part of one."""
    item = index if isinstance(index, str) else ""
    if isinstance(value, Member):
        return Member(f"{value.path}[]", value.thing, item)
    return Member(f"{value.base}[]", value, item)


def _slice(reading: ReadingState, node: ast.Slice) -> Any:
    for part in (node.lower, node.upper, node.step):
        if part is not None:
            reading.value(part)
    return UNKNOWN


def _lambda(reading: ReadingState, node: ast.Lambda) -> Any:
    function = ProgramFunction("<lambda>", node, reading.scope, {}, guard=reading.standing())
    reading.functions.append(function)
    for default in (*node.args.defaults, *node.args.kw_defaults):
        if default is not None:
            reading.value(default)
    return function


def _comprehension(reading: ReadingState, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Any:
    """Read what a comprehension does once, for any item. Nothing is known of what it yields."""
    values: list[Any] = []
    with reading.within(reading.child("function")):
        for generator in node.generators:
            values.append(reading.value(generator.iter))
            reading.assign(generator.target, reason_among(values))
            values += map(reading.value, generator.ifs)
        parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        values += map(reading.value, parts)
    return why(value for value in values if value in INSTALLED)


def _await(reading: ReadingState, node: ast.Await) -> Any:
    return reading.value(node.value)


def _yield(reading: ReadingState, node: ast.Yield | ast.YieldFrom) -> Any:
    if node.value is not None:
        reading.value(node.value)
    return PARAMETER


def _walrus(reading: ReadingState, node: ast.NamedExpr) -> Any:
    value = reading.value(node.value)
    reading.assign(node.target, value)
    return value


def _starred(reading: ReadingState, node: ast.Starred) -> Any:
    reading.value(node.value)
    return UNKNOWN


EXPRESSIONS: Final[Mapping[type[ast.AST], ExpressionHandler]] = {
    ast.Attribute: _attribute,
    ast.Await: _await,
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.Compare: _comparison,
    ast.Constant: _constant,
    ast.Dict: _dict,
    ast.DictComp: _comprehension,
    ast.FormattedValue: _formatted,
    ast.GeneratorExp: _comprehension,
    ast.IfExp: _conditional,
    ast.JoinedStr: _f_string,
    ast.Lambda: _lambda,
    ast.List: _list,
    ast.ListComp: _comprehension,
    ast.Name: _name,
    ast.NamedExpr: _walrus,
    ast.Set: _set,
    ast.SetComp: _comprehension,
    ast.Slice: _slice,
    ast.Starred: _starred,
    ast.Subscript: _subscript,
    ast.Tuple: _tuple,
    ast.UnaryOp: _unary,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
}
