"""Attributes that a program reads of settings: of a library's config, of a dataclass of its own, of what its parser gives.

Those of trainers are noted that trainers lost.
"""

import ast
from collections.abc import Iterable, Iterator
from typing import Any, Final

from holdfast.adapters.readers.script.objects import SETTINGS, lineage
from holdfast.adapters.readers.script.reading import ReadingState, either
from holdfast.adapters.readers.script.values import AnyOf, Member, ObjectValue, PendingRead, ProgramClass, Ref
from holdfast.core.job.calls import Guard, LibraryName, OwnAttributes

TRAINER: Final = "Trainer"
TRAINERS_SETTINGS: Final = "Trainer.args"
TRAINERS_OWN: Final = frozenset({"tokenizer"})
"""Attributes of a trainer itself, of its many, that are noted: those that trainers lost."""
WITHOUT_ATTRIBUTES: Final = frozenset({"builtins.object", "abc.ABC"})
"""Bases that bring no attributes."""
MAKES_ATTRIBUTES: Final = ("__getattr__", "__getattribute__", "__setattr__")


def note_read(reading: ReadingState, owner: Any, node: ast.Attribute) -> None:
    """Note that an attribute is read, where it is one of settings."""
    for settings in settings_in(owner):
        if node.attr == "__dict__":
            reading.exposed.add(settings.address)
    if isinstance(node.ctx, ast.Load):
        for thing in _readable(owner, node.attr):
            _note(reading, thing, node.attr, node)


def note_getattr(reading: ReadingState, owner: Any, node: ast.Call) -> None:
    """Note that `getattr(settings, "name")` reads an attribute; with a default, nothing raises where it is not there."""
    match node.args:
        case [_, ast.Constant(value=str(name)) as written, *default]:
            tolerated = Guard(catches=frozenset({"AttributeError"} if default else ()))
            with reading.guarded(tolerated):
                for thing in _readable(owner, name):
                    _note(reading, thing, name, written)
        case _:
            pass


def expose(reading: ReadingState, values: Iterable[Any]) -> None:
    """Note that code which is not seen is handed some values, and may give them attributes."""
    for value in values:
        reading.exposed.update(thing.address for thing in _things_in(value))
        if isinstance(value, Ref):
            expose_viewed(reading, value)


def expose_viewed(reading: ReadingState, held: Ref) -> None:
    """Note that a dict may be changed; if it is `vars(args)`, its owner may be given attributes by it."""
    if held.address in reading.views:
        reading.exposed.add(reading.views[held.address])


def settings_in(owner: Any) -> Iterator[ObjectValue]:
    """Yield the settings that a value may be: instances of a config's class, or what a trainer was given as `args`."""
    match owner:
        case Member() if owner.path.endswith(TRAINERS_SETTINGS):
            yield from _given_settings(owner)
        case AnyOf():
            for thing in owner.things:
                yield from settings_in(thing)
        case ObjectValue() if _is_settings(owner):
            yield owner
        case _:
            pass


def _is_settings(thing: ObjectValue) -> bool:
    return not thing.path or (thing.is_instance and thing.path.endswith(SETTINGS))


def own_attributes(reading: ReadingState, thing: ObjectValue) -> OwnAttributes | None:
    """Return the attributes of what a parser gave, or of an instance of a dataclass of the program; None where not all can be seen."""
    if thing.path or thing.address in reading.exposed or reading.entries(thing.address).open:
        return None
    if thing.address in reading.namespaces:
        return OwnAttributes("", reading.namespaces[thing.address])
    return _attributes_of_class(reading, thing.cls) if thing.cls else None


def _attributes_of_class(reading: ReadingState, cls: ProgramClass) -> OwnAttributes | None:
    classes = list(lineage(cls))
    defined = _defined_names(reading, classes)
    if not cls.is_dataclass or not all(map(_is_transparent, classes)) or defined.intersection(MAKES_ATTRIBUTES):
        return None
    return OwnAttributes(cls.name, defined.union(*(each.fields for each in classes)))


def _defined_names(reading: ReadingState, classes: Iterable[ProgramClass]) -> frozenset[str]:
    """Return the names that the bodies of classes bind."""
    numbers = {each.number for each in classes}
    return frozenset(key[1] for key in reading.store if isinstance(key, tuple) and key[0] in numbers)


def _is_transparent(cls: ProgramClass) -> bool:
    """True if nothing gives a class attributes that cannot be seen, but perhaps its bases in the program."""
    foreign = (base for base in cls.bases if not isinstance(base, ProgramClass))
    bring_none = all(isinstance(base, LibraryName) and base.path in WITHOUT_ATTRIBUTES for base in foreign)
    return bring_none and not cls.opaque


def _readable(owner: Any, name: str) -> Iterator[ObjectValue]:
    """Yield the objects whose attribute is read, if such reads are recorded: settings, and the removed attributes of trainers."""
    yield from settings_in(owner)
    for thing in _things_in(owner) if name in TRAINERS_OWN else ():
        if thing.is_instance and thing.path.endswith(TRAINER):
            yield thing


def _things_in(value: Any) -> tuple[ObjectValue, ...]:
    """Return the things that a value may be."""
    return value.things if isinstance(value, ObjectValue | AnyOf) else ()


def _given_settings(part: Member) -> Iterator[ObjectValue]:
    """Yield the config that a trainer was given; of plain TrainingArguments TRL makes one of its own."""
    library_call = part.thing.library_call
    slot = library_call.arguments.get("args") if library_call else None
    for settings in settings_in(slot.value) if slot else ():
        if library_call and settings.path.partition(".")[0] == library_call.path.partition(".")[0]:
            yield settings


def _note(reading: ReadingState, settings: ObjectValue, name: str, node: ast.expr) -> None:
    """Note a read. If the settings may have attributes of their own, or define this one, it is no read of the library's class."""
    own = settings.cls is not None and _defines(reading, settings.cls, name)
    if own or reading.entries(settings.address).open:
        settings = ObjectValue("", settings.library_call, settings.address)
    known = reading.reads.get(id(node))
    if known is None:
        known = PendingRead(name, reading.scope.places.last_name(node), reading.standing())
        reading.reads[id(node)] = known
    else:
        known.guard = either(known.guard, reading.standing())
    known.things.append(settings)


def _defines(reading: ReadingState, cls: ProgramClass, name: str) -> bool:
    """True if a class of the program, or a base of it in the program, has an attribute itself, or makes any up."""
    names = (name, "__getattr__", "__getattribute__")
    return any(
        each.opaque or name in each.fields or any((each.number, own) in reading.store for own in names)
        for each in lineage(cls)
    )
