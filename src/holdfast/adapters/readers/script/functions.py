"""Calls of the program's own functions and classes: they are gone into, with the arguments of each call."""

import ast
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from holdfast.adapters.readers.script.join import joined
from holdfast.adapters.readers.script.objects import default_places, find_init, library_base, lineage, own_fields
from holdfast.adapters.readers.script.reading import ReadingState, Scope
from holdfast.adapters.readers.script.record import CallArguments, Site, record
from holdfast.adapters.readers.script.values import (
    BRANCHES,
    CHANGED,
    PARAMETER,
    KnownItems,
    ObjectValue,
    ProgramClass,
    ProgramFunction,
    Slot,
    Super,
)
from holdfast.core.expressions import UNKNOWN
from holdfast.core.parameters import parameter_names

MOST_VISITS: Final = 6
"""Calls of one function that are gone into with their own arguments; after that once more, with none known."""
DEEPEST: Final = 12
"""Calls within calls."""


def enter(
    reading: ReadingState, function: ProgramFunction, arguments: CallArguments | None, receiver: Any = None
) -> Any:
    """Read a function's body with the arguments of a call, and return what it gives back.

    Args:
        reading: The state.
        function: The function.
        arguments: Its arguments; None if any may be given.
        receiver: What it is bound to.
    """
    visits = reading.reached.get(function, 0)
    if function in reading.stack or len(reading.stack) >= DEEPEST or visits > MOST_VISITS:
        return UNKNOWN
    reading.reached[function] = visits + 1
    scope = reading.child("function", function.scope)
    scope.owner = (function.owner, receiver) if function.owner else None
    reading.stack.append(function)
    try:
        with reading.within(scope), reading.guarded(replace(function.guard, catches=frozenset())):
            _bind(reading, function, arguments if visits < MOST_VISITS else None, receiver)
            return _body(reading, function, scope)
    finally:
        reading.stack.pop()


def _body(reading: ReadingState, function: ProgramFunction, scope: Scope) -> Any:
    if isinstance(function.node, ast.Lambda):
        return reading.value(function.node.body)
    if not reading.block(function.node.body):
        scope.returns.append(None)
    result = scope.returns[0] if scope.returns else UNKNOWN
    for other in scope.returns[1:]:
        result = joined(result, other, BRANCHES)
    return UNKNOWN if function.decorated else result


def _bind(reading: ReadingState, function: ProgramFunction, given: CallArguments | None, receiver: Any) -> None:
    """Give the parameters their values."""
    arguments = function.node.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    if function.owner is not None and function.kind != "static" and names:
        reading.bind(names.pop(0), receiver)
    values = given or CallArguments(named=KnownItems(open=True), more=True)
    by_position = dict(zip(names, values.positional, strict=False))
    every = [*names, *(each.arg for each in arguments.kwonlyargs)]
    for name in every:
        slot = by_position.get(name) or values.named.slots.get(name)
        hidden = given is None or values.open or function.decorated
        default = None if hidden else function.defaults.get(name)
        reading.bind(name, slot.value if slot else default.value if default else PARAMETER)
    if arguments.vararg:
        rest = [slot.value for slot in values.positional[len(names) :]]
        reading.bind(arguments.vararg.arg, PARAMETER if values.more else tuple(rest))
    if arguments.kwarg:
        others = {name: slot for name, slot in values.named.slots.items() if name not in every}
        reading.bind(arguments.kwarg.arg, reading.fresh(KnownItems(others, values.named.open)))


def construct(reading: ReadingState, cls: ProgramClass, site: Site, arguments: CallArguments) -> Any:
    """Return an instance of a class of the program.

    Where it adds nothing but fields to a library's class, a call of it is a call of that class. Where it has an `__init__`
    of its own, what that hands on to `super().__init__` is.
    """
    if cls.opaque:
        return UNKNOWN
    base, init = library_base(cls), find_init(reading, cls)
    thing = ObjectValue(base, None, next(reading.numbers), cls)
    cls.instance = thing
    reading.constructed[cls] = None
    if init is not None:
        enter(reading, init, arguments, thing)
    elif base:
        fields = own_fields(cls)
        thing.library_call = record(reading, site, base, arguments, label=cls.name, own=frozenset(fields))
        thing.library_call.own_places = default_places(fields)
    elif own_fields(cls):
        _set_fields(reading, cls, thing, arguments)
    return thing


def _set_fields(reading: ReadingState, cls: ProgramClass, thing: ObjectValue, arguments: CallArguments) -> None:
    """Give the instance of a dataclass its attributes."""
    fields = own_fields(cls)
    slots: dict[str, Slot] = {}
    for (name, default), position in zip(fields.items(), range(len(fields)), strict=True):
        by_position = arguments.positional[position] if position < len(arguments.positional) else None
        slot = by_position or arguments.named.slots.get(name)
        slots[name] = slot or (default if default and not arguments.open else Slot(PARAMETER))
    reading.store[thing.address] = KnownItems(slots)
    for each in lineage(cls):
        after = reading.store.get((each.number, "__post_init__"))
        if isinstance(after, ProgramFunction):
            enter(reading, after, CallArguments(), thing)
            return


def initialise_base(reading: ReadingState, parent: Super, site: Site, arguments: CallArguments) -> Any:
    """Read `super().__init__(...)`, which is a call of the library's class that the program's own derives from."""
    path = library_base(parent.cls)
    if path:
        library_call = record(reading, site, path, arguments, via="super", own=frozenset())
        if isinstance(parent.receiver, ObjectValue):
            parent.receiver.library_call = library_call
    return None


def instance_of(reading: ReadingState, cls: ProgramClass) -> ObjectValue:
    """Return an instance of a class, for the methods that nothing in the program calls."""
    if cls.instance is None:
        cls.instance = ObjectValue(library_base(cls), None, next(reading.numbers), cls)
        reading.store[cls.instance.address] = KnownItems(open=True)
    return cls.instance


def never_called(reading: ReadingState) -> None:
    """Read the functions that nothing called, for what they call: with any arguments."""
    position = 0
    while position < len(reading.functions):
        function = reading.functions[position]
        position += 1
        if function in reading.reached:
            continue
        receiver = instance_of(reading, function.owner) if function.owner else None
        if receiver is not None and function.owner is not None:
            _forget_changes(reading, receiver, function.owner)
        rest = reading.rest
        enter(reading, function, None, receiver)
        reading.rest = rest  # a check in one of them says nothing of the others


def _forget_changes(reading: ReadingState, receiver: ObjectValue, cls: ProgramClass) -> None:
    """Take away what is known of attributes that methods set: which of them ran before, nobody knows."""
    entries = reading.entries(receiver.address)
    for name in _set_by_methods(cls.node) & entries.slots.keys():
        slot = entries.slots[name]
        entries = entries.with_slot(name, Slot(CHANGED, slot.place, slot.key_place))
    reading.store[receiver.address] = entries


@lru_cache(maxsize=16)  # a class's methods are asked about one after the other
def _set_by_methods(node: ast.ClassDef) -> frozenset[str]:
    """Return the attributes that a class's methods set, beside its constructor."""
    methods = (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name != "__init__")
    return frozenset(
        each.attr
        for method in methods
        for each in ast.walk(method)
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
    )


def parameters_of(function: ProgramFunction) -> tuple[Sequence[str], bool]:
    """Return the names of a function's parameters, without `self`, and whether it takes any other keyword too."""
    arguments = function.node.args
    names = parameter_names(arguments)
    bound = function.owner is not None and function.kind != "static"
    return names[1:] if bound else names, arguments.kwarg is not None
