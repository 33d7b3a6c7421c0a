"""Arguments of calls, and the notes that are kept of calls of libraries."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from holdfast.adapters.readers.script.join import joined
from holdfast.adapters.readers.script.objects import dotted
from holdfast.adapters.readers.script.reading import ReadingState, either
from holdfast.adapters.readers.script.values import (
    BRANCHES,
    KnownItems,
    LibraryCall,
    Member,
    ObjectValue,
    Ref,
    Slot,
    Via,
    is_class,
)
from holdfast.core.job.calls import LibraryName
from holdfast.core.text.places import Place

NOT_GIVEN: Final = Slot(BRANCHES)
"""An argument on the one of two visits to a call that does not give it."""


@dataclass(slots=True, eq=False, repr=False)
class CallArguments:
    """The arguments of one call.

    Attributes:
        positional: By position, as far as they can be counted.
        named: By keyword.
        more: Whether `*rest` may hold more of the positional ones.
    """

    positional: list[Slot] = field(default_factory=list[Slot])
    named: KnownItems = field(default_factory=KnownItems)
    more: bool = False

    @property
    def open(self) -> bool:
        """Whether there may be more than can be seen."""
        return self.more or self.named.open

    @property
    def values(self) -> list[Any]:
        """All values that are given."""
        return [slot.value for slot in (*self.positional, *self.named.slots.values())]

    def beyond(self, count: int, names: Sequence[str]) -> "CallArguments":
        """Return what is left after some arguments by position and some by name."""
        others = {name: slot for name, slot in self.named.slots.items() if name not in names}
        return CallArguments(self.positional[count:], KnownItems(others, self.named.open), self.more)

    def argument(self, position: int, name: str) -> Any:
        """Return an argument by position or by name; None if it is not given."""
        if position < len(self.positional):
            return self.positional[position].value
        slot = self.named.slots.get(name)
        return slot.value if slot else None


@dataclass(slots=True, eq=False, repr=False)
class Site:
    """A call as it is written.

    Attributes:
        node: The call.
        callee: What is called.
        receiver: For a method, what it is called on.
        library_call: The note of it, where it is a library's.
    """

    node: ast.Call
    callee: Any
    receiver: Any = None
    library_call: LibraryCall | None = None


def read_arguments(reading: ReadingState, node: ast.Call) -> CallArguments:
    """Return the arguments of a call."""
    given = CallArguments()
    for argument in node.args:
        _read_positional(reading, given, argument)
    for keyword in node.keywords:
        value = reading.value(keyword.value)
        if keyword.arg is None:
            given.named = given.named.merged(spread_entries(reading, value))
            continue
        place, origin = _place_of_value(reading, keyword.value), reading.origins.get(id(keyword.value))
        option = origin.option if origin else None
        slot = Slot(value, place, reading.scope.places.keyword(keyword), option)
        given.named = given.named.with_slot(keyword.arg, slot)
    return given


def _read_positional(reading: ReadingState, given: CallArguments, node: ast.expr) -> None:
    """Add an argument by position to those before it."""
    match node:
        case ast.Starred():
            _spread(given, reading.value(node.value), node, reading)
        case ast.Constant(value=value) if value is ...:  # as documentation leaves the rest to its reader
            given.more, given.named = True, KnownItems(open=True)
        case _:
            given.positional.append(Slot(reading.value(node), _place_of_value(reading, node)))


def _place_of_value(reading: ReadingState, node: ast.expr) -> Place:
    """Return where the value of an expression is written: on the command line, if it is one of its options, else in the program."""
    origin = reading.origins.get(id(node))
    return (origin.place if origin else None) or reading.place(node)


def spread_entries(reading: ReadingState, value: Any) -> KnownItems:
    """Return the items of `**value`."""
    if not isinstance(value, Ref):
        return KnownItems(open=True)
    entries = reading.entries(value.address)
    slots = {name: slot for name, slot in entries.slots.items() if isinstance(name, str)}
    return KnownItems(slots, entries.open or len(slots) < len(entries.slots))


def _spread(arguments: CallArguments, value: Any, node: ast.Starred, reading: ReadingState) -> None:
    if isinstance(value, list | tuple) and not arguments.more:
        arguments.positional += [Slot(part, reading.place(node)) for part in value]
    else:
        arguments.more = True


def record(  # noqa: PLR0913 - what a call is, in six parts
    reading: ReadingState,
    site: Site,
    path: str,
    arguments: CallArguments,
    *,
    via: Via = "call",
    label: str = "",
    own: frozenset[str] = frozenset(),
    receiver: ObjectValue | Member | None = None,
) -> LibraryCall:
    """Note a call of something that a library provides; come upon again, what differs in it is not known."""
    node = site.node
    name_place = reading.scope.places.last_name(node.func)
    library_call = LibraryCall(
        node=node,
        path=path,
        label=label or dotted(node.func),
        arguments=dict(arguments.named.slots),
        positional=[slot.value for slot in arguments.positional],
        open=arguments.open,
        own=own,
        place=reading.place(node),
        name_place=name_place,
        guard=reading.standing(),
        via=via,
        receiver=receiver,
        unbound=isinstance(site.callee, LibraryName) and is_class(path.rpartition(".")[0]),
        main=reading.scope.module.number == 0,
        order=(node.func.end_lineno or node.lineno, node.func.end_col_offset or node.col_offset),
        positional_places=_places(node, arguments),
        same=same_keywords(node),
    )
    key = (id(node), path, via)
    known = reading.library_calls.setdefault(key, library_call)
    if known is not library_call:
        _merge(known, library_call)
    reading.log.append(known)
    return known


def same_keywords(node: ast.Call) -> tuple[frozenset[str], ...]:
    """Return the names of keywords that are given one and the same variable, or item of it.

    >>> [sorted(each) for each in same_keywords(ast.parse("f(a=x['t'], b=x['t'], c=x)", mode="eval").body)]
    [['a', 'b']]
    """
    written: dict[str, set[str]] = {}
    for keyword in node.keywords:
        if keyword.arg and _is_item(keyword.value):
            written.setdefault(ast.dump(keyword.value), set()).add(keyword.arg)
    return tuple(frozenset(names) for names in written.values() if len(names) > 1)


def _is_item(node: ast.expr) -> bool:
    """True if an expression names a variable, an attribute or an item of one by a constant."""
    match node:
        case ast.Name():
            return True
        case ast.Attribute(value=owner) | ast.Subscript(value=owner, slice=ast.Constant()):
            return _is_item(owner)
        case _:
            return False


def _places(node: ast.Call, arguments: CallArguments) -> tuple[Place | None, ...]:
    spread = any(isinstance(argument, ast.Starred) for argument in node.args)
    return () if spread else tuple(slot.place for slot in arguments.positional)


def _merge(known: LibraryCall, again: LibraryCall) -> None:
    """Make of two visits to one call what is true of both; what only one of them gives is given, but not its value."""
    alike = known.arguments.keys() == again.arguments.keys() and len(known.positional) == len(again.positional)
    names = known.arguments | again.arguments
    known.arguments = {name: _merged(known.arguments.get(name), again.arguments.get(name)) for name in names}
    pairs = zip(known.positional, again.positional, strict=False)
    known.positional = [joined(*pair, BRANCHES) for pair in pairs]
    known.open = known.open or again.open or not alike
    known.own &= again.own
    known.guard = either(known.guard, again.guard)
    known.receiver = known.receiver or again.receiver


def _merged(known: Slot | None, again: Slot | None) -> Slot:
    """Return an argument that has one value or the other, or is given on one of two visits alone."""
    first, one, other = known or again or NOT_GIVEN, known or NOT_GIVEN, again or NOT_GIVEN
    value = joined(one.value, other.value, BRANCHES)
    return Slot(value, first.place, first.key_place, one.option if one.option == other.option else None)


def result_of(reading: ReadingState, library_call: LibraryCall) -> ObjectValue:
    """Return the object that a call creates."""
    made = ObjectValue(library_call.path, library_call, next(reading.numbers))
    library_call.made.append(made.address)
    return made
