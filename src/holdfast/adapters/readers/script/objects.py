"""Attributes of what a script handles, its classes' inheritance, and values in plain form."""

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from holdfast.adapters.readers.script.guards import named_reason
from holdfast.adapters.readers.script.reading import ReadingState
from holdfast.adapters.readers.script.values import (
    CHANGED,
    COMMAND_LINE,
    AnyOf,
    BoundMethod,
    KnownItems,
    Member,
    ObjectValue,
    ProgramClass,
    ProgramFunction,
    Ref,
    Sibling,
    Slot,
    Super,
)
from holdfast.core.job.calls import LibraryName
from holdfast.core.job.document import Unknown
from holdfast.core.job.expressions import UNKNOWN, reason_among
from holdfast.core.text.places import Place

DEEPEST: Final = 12
"""Dicts within dicts."""
WITHOUT_ARGUMENTS: Final = frozenset({"builtins", "abc", "typing", "enum", "typing_extensions"})
"""Modules whose classes give a class of the program no arguments."""
PLAIN: Final = (str, int, float, complex, bytes, set, dict, type(None))
SETTINGS: Final = ("Config", "Arguments", "Args")
"""Endings of the names of classes whose instances have an attribute for each argument."""


def settled(reading: ReadingState, value: Any, depth: int = 0) -> Any:
    """Return a value as plain data where all of it is known, to compute with; else `Unknown`, with the reason."""
    if isinstance(value, Ref):
        return _settled_items(reading, value, depth)
    if isinstance(value, list | tuple):
        return type(value)(settled(reading, part, depth) for part in value)
    return value if isinstance(value, PLAIN) else _hidden_reason(value)


def _settled_items(reading: ReadingState, ref: Ref, depth: int) -> Any:
    slots = known_slots(reading, ref, depth)
    if slots is None:
        return UNKNOWN
    return {name: settled(reading, slot.value, depth + 1) for name, slot in slots.items()}


def known_slots(reading: ReadingState, ref: Ref, depth: int) -> Mapping[Any, Slot] | None:
    """Return the items of a dict; None if there may be more, or it lies too deep in others: it may hold itself."""
    entries = reading.entries(ref.address)
    return None if entries.open or depth > DEEPEST else entries.slots


def _hidden_reason(value: Any) -> Unknown:
    """Return why the plain data that a value stands for is not known."""
    if isinstance(value, LibraryName):
        return named_reason(value.path.rpartition(".")[2]) or UNKNOWN
    return reason_among([value])


def known_not_none(value: Any) -> bool:
    """True if a value is certainly something: not None, and not what a library's function may give."""
    if isinstance(value, ObjectValue):
        return value.is_instance
    return not isinstance(value, Unknown | Member | AnyOf | None)


def attribute_of(reading: ReadingState, value: Any, name: str) -> Any:
    """Return the value of an attribute."""
    rule = ATTRIBUTES.get(type(value))
    if rule is not None:
        return rule(reading, value, name)
    return value if isinstance(value, Unknown) else UNKNOWN


def _named_attribute(_: ReadingState, named: LibraryName, name: str) -> Any:
    return LibraryName(f"{named.path}.{name}")


def _member_attribute(_: ReadingState, part: Member, name: str) -> Any:
    return Member(f"{part.path}.{name}", part.thing)


def _some_attribute(_: ReadingState, some: AnyOf, name: str) -> Any:
    return AnyOf(f"{some.path}.{name}")


def _of_class(reading: ReadingState, cls: ProgramClass, name: str) -> Any:
    return class_attribute(reading, cls, name, cls)


def _of_sibling(reading: ReadingState, sibling: Sibling, name: str) -> Any:
    return reading.store.get((sibling.scope.number, name), UNKNOWN)


def _of_thing(reading: ReadingState, thing: ObjectValue, name: str) -> Any:
    entries = reading.entries(thing.address)
    if name in entries.slots:
        return entries.slots[name].value
    found = _by_own_class(reading, thing, name)
    if thing.path and isinstance(found, Unknown):
        return _of_library(thing, name, entries)
    return UNKNOWN if entries.open and thing.cls else found


def _by_own_class(reading: ReadingState, thing: ObjectValue, name: str) -> Any:
    """Return an attribute that the program's own class gives a thing; what has no class, the command line decides."""
    return COMMAND_LINE if thing.cls is None else class_attribute(reading, thing.cls, name, thing)


def _of_library(thing: ObjectValue, name: str, entries: KnownItems) -> Any:
    """Return an attribute that a library's class gives a thing: of settings, what they were given by that name."""
    is_settings = thing.path.endswith(SETTINGS)
    if is_settings and entries.open:
        return UNKNOWN
    given = thing.library_call.arguments if is_settings and thing.library_call else {}
    return given[name].value if name in given else Member(f"{thing.base}.{name}", thing)


def _of_super(reading: ReadingState, parent: Super, name: str) -> Any:
    for base in parent.cls.bases:
        if isinstance(base, ProgramClass):
            found = class_attribute(reading, base, name, parent.receiver)
            if isinstance(found, BoundMethod):
                return found
    path = library_base(parent.cls)
    return Member(f"{path}.{name}", parent.receiver) if path and isinstance(parent.receiver, ObjectValue) else UNKNOWN


ATTRIBUTES: Final[Mapping[type[Any], Callable[[ReadingState, Any, str], Any]]] = {
    ProgramClass: _of_class,
    LibraryName: _named_attribute,
    Member: _member_attribute,
    Sibling: _of_sibling,
    AnyOf: _some_attribute,
    Super: _of_super,
    ObjectValue: _of_thing,
}


def class_attribute(reading: ReadingState, cls: ProgramClass, name: str, receiver: Any) -> Any:
    """Return an attribute that a class of the program has itself, or by a base that is in the program too."""
    for each in lineage(cls):
        found = reading.store.get((each.number, name), None)
        if isinstance(found, ProgramFunction):
            return found if found.kind == "static" else BoundMethod(found, cls if found.kind == "class" else receiver)
        if found is not None or (each.number, name) in reading.store:
            return found
    return UNKNOWN


def lineage(cls: ProgramClass) -> Iterator[ProgramClass]:
    """Yield a class and its bases in the program, nearest first."""
    yield cls
    for base in cls.bases:
        if isinstance(base, ProgramClass) and base is not cls:
            yield from lineage(base)


def library_base(cls: ProgramClass) -> str:
    """Return the library's class that a class of the program derives from; empty if it is none, or not clear."""
    bases = [base for each in lineage(cls) for base in each.bases]
    paths = {base.path for base in bases if isinstance(base, LibraryName)}
    paths = {path for path in paths if path.partition(".")[0] not in WITHOUT_ARGUMENTS}
    unclear = not all(isinstance(base, LibraryName | ProgramClass) for base in bases)
    return paths.pop() if len(paths) == 1 and not unclear else ""


def own_fields(cls: ProgramClass) -> dict[str, Slot | None]:
    """Return the parameters that dataclasses of the program add, the most basic class's first."""
    fields: dict[str, Slot | None] = {}
    for each in reversed(list(lineage(cls))):
        fields |= each.fields if each.is_dataclass else {}
    return fields


def default_places(fields: Mapping[str, Slot | None]) -> dict[str, Place]:
    """Return where the defaults of a dataclass's fields stand."""
    return {name: slot.place for name, slot in fields.items() if slot and slot.place}


def find_method(reading: ReadingState, cls: ProgramClass, name: str) -> ProgramFunction | None:
    """Return the method of a name that a class of the program, or a base in the program, defines."""
    methods = (reading.store.get((each.number, name)) for each in lineage(cls))
    return next((found for found in methods if isinstance(found, ProgramFunction)), None)


def set_attribute(reading: ReadingState, target: Any, name: str | None, slot: Slot) -> None:
    """Give an attribute of a value another value; without a name, any of them."""
    if isinstance(target, LibraryName):
        owner = (
            target.path
            if name is None or name.startswith("_") or target.path[:1].isupper()
            else f"{target.path}.{name}"
        )
        reading.patched[owner] = "the script gives it another value"
    if isinstance(target, ProgramClass) and name is not None:
        reading.store[target.number, name] = slot.value
    if isinstance(target, ObjectValue):
        entries = reading.entries(target.address)
        reading.store[target.address] = entries.opened(CHANGED) if name is None else entries.with_slot(name, slot)


def dotted(node: ast.expr) -> str:
    """Return the source text of a called expression, without the arguments of calls within it.

    >>> dotted(ast.parse("load(x)['train'].map", mode="eval").body)
    'load()[].map'
    """
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            return f"{dotted(value)}.{attr}"
        case ast.Call(func=func):
            return f"{dotted(func)}()"
        case ast.Subscript(value=value):
            return f"{dotted(value)}[]"
        case _:
            return "…"
