"""Calls of the program's own functions and classes: they are gone into, with the arguments of each call."""

import ast
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from holdfast.adapters.readers.script.join import joined
from holdfast.adapters.readers.script.objects import default_places, find_method, library_base, own_fields
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
from holdfast.core.job.expressions import UNKNOWN
from holdfast.core.job.parameters import parameter_names, positional_names

MOST_VISITS: Final = 6
"""Calls of one function that are gone into with their own arguments; after that once more, with none known."""
DEEPEST: Final = 12
"""Calls within calls."""
ANY_ARGUMENTS: Final = CallArguments(named=KnownItems(open=True), more=True)
HANDED_OVER: Final = Slot(PARAMETER)
"""A parameter whose argument is not known."""


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
            given = arguments if arguments and visits < MOST_VISITS else ANY_ARGUMENTS
            _bind(reading, function, given, receiver)
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


def _bind(reading: ReadingState, function: ProgramFunction, given: CallArguments, receiver: Any) -> None:
    """Give the parameters their values."""
    parameters = function.node.args
    names, every = positional_names(parameters), parameter_names(parameters)
    if function.is_bound and names:
        reading.bind(names[0], receiver)
        names, every = names[1:], every[1:]
    defaults = {} if given.open or function.decorated else function.defaults
    known = {**defaults, **given.named.slots, **dict(zip(names, given.positional, strict=False))}
    for name in every:
        reading.bind(name, known.get(name, HANDED_OVER).value)
    _bind_rest(reading, parameters, given.beyond(len(names), every))


def _bind_rest(reading: ReadingState, parameters: ast.arguments, rest: CallArguments) -> None:
    """Give `*args` and `**kwargs` their values: the arguments that no other parameter takes."""
    if parameters.vararg:
        values = tuple(slot.value for slot in rest.positional)
        reading.bind(parameters.vararg.arg, PARAMETER if rest.more else values)
    if parameters.kwarg:
        reading.bind(parameters.kwarg.arg, reading.fresh(rest.named))


def construct(reading: ReadingState, cls: ProgramClass, site: Site, arguments: CallArguments) -> Any:
    """Return an instance of a class of the program.

    Where it adds nothing but fields to a library's class, a call of it is a call of that class. Where it has an `__init__`
    of its own, what that hands on to `super().__init__` is.
    """
    if cls.opaque:
        return UNKNOWN
    base, init = library_base(cls), find_method(reading, cls, "__init__")
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
    given = {**arguments.named.slots, **dict(zip(fields, arguments.positional, strict=False))}
    defaults = {} if arguments.open else fields
    slots = {name: given.get(name) or defaults.get(name) or HANDED_OVER for name in fields}
    reading.store[thing.address] = KnownItems(slots)
    after = find_method(reading, cls, "__post_init__")
    if after is not None:
        enter(reading, after, CallArguments(), thing)


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
    """Take away what is known of attributes that methods set: it is not known which methods ran before."""
    entries = reading.entries(receiver.address)
    for name in _set_by_methods(cls.node) & entries.slots.keys():
        slot = entries.slots[name]
        entries = entries.with_slot(name, Slot(CHANGED, slot.place, slot.key_place))
    reading.store[receiver.address] = entries


@lru_cache(maxsize=16)  # a class's methods are read one after the other
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
    return names[1:] if function.is_bound else names, arguments.kwarg is not None
