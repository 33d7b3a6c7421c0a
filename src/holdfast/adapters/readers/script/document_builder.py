"""One Document of a program: its calls and reads, with their values and places as a Document holds them."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final, NamedTuple

from holdfast.adapters.readers.script.functions import parameters_of
from holdfast.adapters.readers.script.guards import is_wrapped, stays_intact
from holdfast.adapters.readers.script.objects import known_slots
from holdfast.adapters.readers.script.reading import ReadingState
from holdfast.adapters.readers.script.reads import own_attributes
from holdfast.adapters.readers.script.row_keys import element_keys_read, keys_read
from holdfast.adapters.readers.script.values import (
    CHANGED,
    ITEMS,
    BoundMethod,
    LibraryCall,
    Member,
    ObjectValue,
    Partial,
    PendingRead,
    ProgramClass,
    ProgramFunction,
    Ref,
    is_class,
)
from holdfast.adapters.readers.settings import plain
from holdfast.catalog.calls.completion_use import CompletionUse, completion_use
from holdfast.catalog.calls.label_masks import masks_prompt
from holdfast.catalog.calls.returned_values import (
    CallableNode,
    ReturnKind,
    keys_returned,
    kind_returned,
    types_returned,
)
from holdfast.core.job.calls import (
    AttributeRead,
    Call,
    CallResult,
    Guard,
    LibraryName,
    LocalName,
    OverriddenMethod,
    OwnAttributes,
)
from holdfast.core.job.document import Key, Unknown
from holdfast.core.job.expressions import UNKNOWN
from holdfast.core.job.parameters import required_parameters
from holdfast.core.rows.columns import Type
from holdfast.core.text.places import Place

PLAIN: Final = (str, int, float, complex, bytes, set, frozenset, type(None), LibraryName, Unknown)
COLUMN_NAMES: Final = (").column_names", ")[].column_names")
"""Ends of the paths by which the names of all columns of a dataset are reached."""
HIDDEN: Final = Unknown("it may be given where the script does not show it")
REPLACED: Final = frozenset({"trl", "transformers", "peft"})
"""Packages whose classes a patcher may replace."""


class FunctionBehaviour(NamedTuple):
    """What a function gives back and reads; `core.calls.LocalName` describes each field."""

    returns: ReturnKind
    keys: tuple[str, ...]
    types: Mapping[str, Type]
    reads: tuple[str, ...]
    element_reads: tuple[str, ...]
    completions: CompletionUse
    masks_prompt: bool


class PartialSettings(dict[str, Any]):
    """Settings of which some may not be seen: any other name is there too, with a value that is not known.

    Attributes:
        hidden: The value of any other name.
    """

    hidden: Unknown = HIDDEN

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str)

    def __missing__(self, key: str) -> Unknown:
        return self.hidden


@dataclass(slots=True, eq=False, repr=False)
class DocumentBuilder:
    """Makes one Document.

    Attributes:
        reading: What was read.
        keys: The key of each call, by its identity.
    """

    reading: ReadingState
    keys: Mapping[int, str]
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    places: dict[Key, Place] = field(default_factory=dict[Key, Place])
    key_places: dict[Key, Place] = field(default_factory=dict[Key, Place])

    def plain(self, value: Any, depth: int = 0) -> Any:
        """Return a value as a Document holds it."""
        if isinstance(value, PLAIN):
            return value
        if isinstance(value, list | tuple):
            return type(value)(self.plain(part, depth) for part in value)
        if isinstance(value, Ref):
            return self._plain_items(value, depth)
        if isinstance(value, ObjectValue | Member):
            return self._made(value)
        return _own(value, self.reading.scope.places.path)

    def _plain_items(self, ref: Ref, depth: int) -> Any:
        slots = known_slots(self.reading, ref, depth)
        if slots is None:
            return UNKNOWN
        return {name: self.plain(slot.value, depth + 1) for name, slot in slots.items()}

    def _made(self, value: ObjectValue | Member) -> CallResult | Unknown:
        """Return the result of a call, or an item of it; anything else that is reached from there is unknown."""
        if isinstance(value, ObjectValue):
            return self._result(value, value.path)
        if value.path == f"{value.thing.base}[]":
            return self._result(value.thing, value.path, value.item)
        return self._result(value.thing, value.path) if value.path.endswith(COLUMN_NAMES) else UNKNOWN

    def _result(self, thing: ObjectValue, path: str, item: str = "") -> CallResult | Unknown:
        """Return what is reached by a path from the result of a call; unknown if its items were changed."""
        key = self.keys.get(id(thing.library_call))
        if key is None:
            return UNKNOWN
        return CHANGED if ITEMS in self.reading.entries(thing.address).slots else CallResult(path, key, item)

    def _receiver(self, library_call: LibraryCall) -> CallResult | None:
        """Return the object that a method is called on, if a call created it."""
        made = self._made(library_call.receiver) if library_call.receiver else None
        return made if isinstance(made, CallResult) else None

    def call(self, library_call: LibraryCall) -> Call:
        """Return a call as a Document holds it, and put its arguments under its key."""
        key = self.keys[id(library_call)]
        arguments = {name: self.plain(slot.value) for name, slot in library_call.arguments.items()}
        under: Key = tuple(int(part) if part.isdigit() else part for part in key.split("."))
        self._put(under, PartialSettings(arguments) if library_call.open else dict(arguments), library_call)
        return Call(
            path=library_call.path,
            label=library_call.label,
            key=key,
            arguments=arguments,
            positional=tuple(map(self.plain, library_call.positional)),
            open=library_call.open,
            own=library_call.own,
            flags=library_call.flags,
            place=library_call.place,
            name_place=library_call.name_place,
            guard=self._guard(library_call),
            via=library_call.via,
            same=library_call.same,
            fields=library_call.fields,
            parser=library_call.parser,
            options={name: slot.option for name, slot in library_call.arguments.items() if slot.option},
            unbound=library_call.unbound,
            defaults=self._defaults(library_call) if library_call.via == "parser" else frozenset(),
            receiver=self._receiver(library_call),
            changed=self._changed(library_call),
        )

    def _defaults(self, library_call: LibraryCall) -> frozenset[str]:
        """Return the arguments that a file of settings gives."""
        written = ((name, slot.key_place) for name, slot in library_call.arguments.items())
        return frozenset(name for name, place in written if place and place not in self.reading.argv_places)

    def _changed(self, library_call: LibraryCall) -> frozenset[str]:
        """Return the names of the attributes that are given to what a call made."""
        every = [self.reading.entries(address) for address in library_call.made]
        return frozenset(str(name) for entries in every for name in (*entries.slots, *("*",) * entries.open))

    def read(self, read: PendingRead, number: int) -> AttributeRead:
        """Return an attribute that is read as a Document holds it, and put its place under its key."""
        paths = {thing.path for thing in read.things}
        path = paths.pop() if len(paths) == 1 else ""
        self.key_places["reads", number, read.name] = read.place
        makers = dict.fromkeys(id(thing.library_call) for thing in read.things)
        because = read.guard.because or _patched(self.reading.patched, f"{path}.{read.name}")
        return AttributeRead(
            path=path,
            name=read.name,
            key=f"reads.{number}",
            calls=tuple(self.keys[maker] for maker in makers if maker in self.keys),
            place=read.place,
            guard=replace(read.guard, because=because),
            exposed=any(thing.address in self.reading.exposed for thing in read.things),
            own=self._own_attributes(read),
        )

    def _own_attributes(self, read: PendingRead) -> OwnAttributes | None:
        """Return the attributes that all things have together of which one is read; None where these cannot be seen."""
        found = [own_attributes(self.reading, thing) for thing in read.things]
        known = [each for each in found if each]
        if not known or len(known) < len(found) or read.name in self.reading.asked:
            return None
        return OwnAttributes(known[0].owner, frozenset().union(*(each.names for each in known)))

    def override(self, override: OverriddenMethod) -> OverriddenMethod:
        """Return a method that is defined anew, with what is known of the library's own."""
        because = override.guard.because or _patched(self.reading.patched, override.path)
        return replace(override, guard=replace(override.guard, because=because))

    def _put(self, under: Key, values: dict[str, Any], library_call: LibraryCall) -> None:
        if library_call.via == "parser":
            values = {name: plain(value) for name, value in values.items()}
        if len(under) == 1:
            self.values[str(under[0])] = values
        else:
            self.values.setdefault(str(under[0]), {})[str(under[1])] = values
        self._put_places(under, library_call)

    def _put_places(self, under: Key, library_call: LibraryCall) -> None:
        slots = library_call.arguments.items()
        self.places[under] = library_call.place
        self.key_places[under] = library_call.name_place
        self.places |= {(*under, name): place for name, place in library_call.own_places.items()}
        self.places |= {(*under, index): place for index, place in enumerate(library_call.positional_places) if place}
        self.places |= {(*under, name): slot.place for name, slot in slots if slot.place}
        self.key_places |= {(*under, name): slot.key_place for name, slot in slots if slot.key_place}

    def _guard(self, library_call: LibraryCall) -> Guard:
        if library_call.guard.because:
            return library_call.guard
        because = _patched(self.reading.patched, library_call.path)
        return replace(library_call.guard, because=because, wraps=is_wrapped(library_call.path, because))


def _own(value: Any, path: str) -> Any:
    """Return a function or a class of the program as a Document holds it; of anything else nothing is known.

    Args:
        value: The value.
        path: The program's own file; places are given for it alone.
    """
    match value:
        case Partial(target=function) | BoundMethod(function=function):
            return _without_reads(_own(function, path))
        case ProgramClass():
            return LocalName(value.name, "class")
        case ProgramFunction():
            return _local_function(value, path)
        case LibraryName():
            return value
        case _:
            return UNKNOWN


def _without_reads(value: Any) -> Any:
    """Return a function without what it reads of its first argument, which may not be the first that it is handed."""
    return replace(value, reads=(), element_reads=()) if isinstance(value, LocalName) else value


def _local_function(function: ProgramFunction, path: str) -> LocalName:
    """Return a function of the program as a Document holds it."""
    names, more = parameters_of(function)
    place = _definition(function, path)
    if function.decorated:
        return LocalName(function.name, "function", tuple(names), more, place=place)
    seen = _describe_behaviour(function.node)
    required = required_parameters(function.node.args)
    needed = tuple(name for name in names if name in required)
    return LocalName(
        function.name,
        "function",
        tuple(names),
        more,
        seen.returns,
        seen.keys,
        seen.types,
        needed,
        seen.reads,
        seen.element_reads,
        seen.completions,
        seen.masks_prompt,
        place,
        _first_statement(function) if place else None,
    )


def _definition(function: ProgramFunction, path: str) -> Place | None:
    """Return where a function is defined in a file; None for a lambda, and for one of another file."""
    if isinstance(function.node, ast.Lambda) or function.scope.places.path != path:
        return None
    place: Place = function.scope.places.definition(function.node)
    return place


def _first_statement(function: ProgramFunction) -> Place | None:
    """Return where the first statement of a function stands, after its docstring; None if it does not begin a line."""
    if isinstance(function.node, ast.Lambda):
        return None
    first = next((each for each in function.node.body if not _is_text(each)), None)
    if first is None or first.lineno == function.node.lineno or getattr(first, "decorator_list", []):
        return None
    place: Place = function.scope.places.of(first)
    return place


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _patched(patched: Mapping[str, str], path: str) -> str:
    """Return the condition around a call of something that the program replaces."""
    package, *names = path.split(".")
    replaces = "*" in patched and package in REPLACED and any(map(is_class, names))
    if replaces and not stays_intact(path, patched["*"]):
        return patched["*"]
    prefixes = accumulate(path.split("."), "{}.{}".format)
    return next((patched[prefix] for prefix in prefixes if prefix in patched), "")


@lru_cache(maxsize=64)  # a function is given to several calls, and each document of a program names it
def _describe_behaviour(node: CallableNode) -> FunctionBehaviour:
    """Return the kinds of values that a function returns, and the keys that it reads."""
    return FunctionBehaviour(
        kind_returned(node),
        keys_returned(node),
        types_returned(node),
        keys_read(node),
        element_keys_read(node),
        completion_use(node),
        masks_prompt(node),
    )
