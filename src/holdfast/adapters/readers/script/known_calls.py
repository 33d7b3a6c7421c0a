"""Calls whose effect or value is known: of Python itself and of its standard library."""

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from holdfast.adapters.readers.script.objects import SETTINGS, attribute_of, library_base, set_attribute, settled
from holdfast.adapters.readers.script.reading import ReadingState, note_patcher
from holdfast.adapters.readers.script.reads import note_getattr
from holdfast.adapters.readers.script.record import CallArguments, Site, record, result_of, spread_entries
from holdfast.adapters.readers.script.values import (
    AVAILABLE,
    INSTALLED,
    VERSION,
    KnownItems,
    LibraryCall,
    ObjectValue,
    Partial,
    ProgramClass,
    Ref,
    Slot,
    Super,
    why,
)
from holdfast.core.job.calls import Guard, LibraryName
from holdfast.core.job.document import FROM_ENVIRONMENT, Unknown
from holdfast.core.job.expressions import UNKNOWN, call_pure, reason_among

Known = Callable[[ReadingState, Site, CallArguments], Any]

VERSION_CALLS: Final = re.compile(
    r"(inspect\.(signature|getfullargspec|getargspec|getsource|isclass)|dataclasses\.fields"
    r"|importlib(_|\.)metadata\.\w+|pkg_resources\.\w+|packaging\.version\.\w+"
    r"|.*\.is_\w+_(greater_or_equal|version)\w*|.*\.compare_versions?)"
)
COMPARERS: Final = frozenset(
    {"packaging", "pkg_resources", "distutils", "looseversion", "semver", "re", "operator", "itertools"}
)
"""Packages whose functions, handed a version, say something of it."""
PACKAGE_CALLS: Final = re.compile(r"importlib\.util\.find_spec|.*\.is_\w+_available|.*\._?is_package_available")
"""Calls that tell what is installed; the others, of which version, or what a class of it takes."""


def installed_reason(path: str, values: Iterable[Any]) -> Unknown | None:
    """Return why nothing is known of a call that tells what is installed, or is handed something of the kind."""
    if VERSION_CALLS.fullmatch(path):
        return VERSION
    if PACKAGE_CALLS.fullmatch(path):
        return AVAILABLE
    reason = why(values) if path.partition(".")[0] in COMPARERS else None
    return reason if reason in INSTALLED else None


def _dict(reading: ReadingState, _: Site, arguments: CallArguments) -> Any:
    entries = KnownItems(open=arguments.open)
    for slot in arguments.positional:
        entries = entries.merged(spread_entries(reading, slot.value))
    return reading.fresh(entries.merged(arguments.named))


def _setattr(reading: ReadingState, _: Site, arguments: CallArguments) -> Any:
    if len(arguments.positional) == 3:  # noqa: PLR2004 - setattr(target, name, value)
        target, name, slot = arguments.positional
        reading.written.add(
            name.value if isinstance(name.value, str) else "" if isinstance(target.value, ObjectValue) else "*"
        )
        set_attribute(reading, target.value, name.value if isinstance(name.value, str) else None, slot)
    return None


def _getattr(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    target, name = arguments.argument(0, ""), arguments.argument(1, "")
    note_getattr(reading, target, site.node)
    if isinstance(target, ObjectValue) and isinstance(name, str) and name in reading.entries(target.address).slots:
        return attribute_of(reading, target, name)
    if not isinstance(name, str):
        return UNKNOWN
    if len(arguments.positional) != 2:  # noqa: PLR2004 - a default, for where it has no such attribute
        return VERSION if _depends_on_version(target) else UNKNOWN
    return attribute_of(reading, target, name)


def _hasattr(reading: ReadingState, _: Site, arguments: CallArguments) -> Any:
    name = arguments.argument(1, "")
    if isinstance(name, str):
        reading.asked.add(name)
    return VERSION if _depends_on_version(arguments.argument(0, "")) else UNKNOWN


def _depends_on_version(target: Any) -> bool:
    """True if it depends on a library's version which attributes something has: of a model, that is its own affair."""
    if isinstance(target, ObjectValue):
        return target.path.endswith((*SETTINGS, "Trainer"))
    return isinstance(target, LibraryName) or target in INSTALLED


def _super(reading: ReadingState, _: Site, __: CallArguments) -> Any:
    scope = reading.scope
    while scope.owner is None and scope.parent is not None:
        scope = scope.parent
    return Super(*scope.owner) if scope.owner else UNKNOWN


def _execute(reading: ReadingState, _: Site, arguments: CallArguments) -> Any:
    if len(arguments.positional) < 2:  # noqa: PLR2004 - no namespace of its own
        reading.rest = Guard(because="after `exec`, which may do anything")
    return UNKNOWN


def _none(_: ReadingState, __: Site, ___: CallArguments) -> Any:
    return None


def _type(_: ReadingState, __: Site, arguments: CallArguments) -> Any:
    value = arguments.argument(0, "")
    one = len(arguments.positional) == 1 and isinstance(value, ObjectValue) and value.is_instance and value.cls is None
    return LibraryName(value.path) if one else UNKNOWN


def _import(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    name = arguments.argument(0, "name")
    if isinstance(name, str) and not name.startswith("."):
        package = name.partition(".")[0]
        note_patcher(reading, package)
        return LibraryName(name if site.library_call else package)
    return UNKNOWN


def _partial(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    if not arguments.positional:
        return UNKNOWN
    target, rest = (
        arguments.positional[0].value,
        CallArguments(arguments.positional[1:], arguments.named, arguments.more),
    )
    noted: LibraryCall | None = None
    path = (
        target.path
        if isinstance(target, LibraryName)
        else library_base(target)
        if isinstance(target, ProgramClass)
        else ""
    )
    if path and not path.startswith("builtins."):
        noted = record(reading, site, path, rest, via="partial", label=path.rpartition(".")[2])
    named = KnownItems(rest.named.slots, rest.open)
    return Partial(target, [slot.value for slot in rest.positional], named, noted)


def _replace(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    """`dataclasses.replace(args, x=1)` makes another, of which it gives what is written here, and the rest."""
    thing = arguments.argument(0, "obj")
    if not isinstance(thing, ObjectValue) or not thing.path or not thing.is_instance:
        return UNKNOWN
    changed = CallArguments([], KnownItems(arguments.named.slots, open=True), more=True)
    again = record(reading, site, thing.path, changed, label=thing.path.rpartition(".")[2])
    return ObjectValue(thing.path, again, next(reading.numbers), thing.cls)


def _copy(reading: ReadingState, _: Site, arguments: CallArguments) -> Any:
    value = arguments.argument(0, "x")
    if isinstance(value, Ref):
        return reading.fresh(reading.entries(value.address))
    if isinstance(value, ObjectValue):
        address = next(reading.numbers)
        reading.store[address] = reading.entries(value.address)
        return ObjectValue(value.path, value.library_call, address, value.cls)
    return value if isinstance(value, list | str | int | float | tuple | Unknown) else UNKNOWN


def _from_environment(_: ReadingState, __: Site, ___: CallArguments) -> Any:
    return FROM_ENVIRONMENT


def _set_variable(reading: ReadingState, _: Site, arguments: CallArguments) -> Any:
    name = arguments.argument(0, "key")
    if isinstance(name, str) and len(arguments.positional) > 1:
        set_variable(reading, name, arguments.positional[1], arguments.positional[0])
    return FROM_ENVIRONMENT


def _update_variables(reading: ReadingState, _: Site, arguments: CallArguments) -> Any:
    entries = arguments.named
    for slot in arguments.positional:
        entries = entries.merged(spread_entries(reading, slot.value))
    for name, slot in entries.slots.items():
        if isinstance(name, str):
            set_variable(reading, name, slot, slot)
    return None


def set_variable(reading: ReadingState, name: str, slot: Slot, key: Slot) -> None:
    """Note that the program sets an environment variable; in a branch, or twice, its value is not known."""
    value = settled(reading, slot.value)
    unsure = name in reading.variables or bool(reading.standing().because)
    reading.variables[name] = Slot(UNKNOWN if unsure else value, slot.place, key.key_place or key.place)


def _join_path(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    values = [slot.value for slot in arguments.positional]
    if values and not arguments.open and all(isinstance(value, str) for value in values):
        return call_pure(posixpath.join, values)
    hidden = reason_among(values)
    return result_of(reading, site.library_call) if hidden is UNKNOWN and site.library_call else hidden


FUNCTIONS: Final[Mapping[str, Known]] = {
    "builtins.__import__": _import,
    "builtins.delattr": _none,
    "builtins.dict": _dict,
    "builtins.exec": _execute,
    "builtins.getattr": _getattr,
    "builtins.hasattr": _hasattr,
    "builtins.print": _none,
    "builtins.setattr": _setattr,
    "builtins.super": _super,
    "builtins.type": _type,
    "copy.copy": _copy,
    "copy.deepcopy": _copy,
    "dataclasses.replace": _replace,
    "functools.partial": _partial,
    "importlib.import_module": _import,
    "os.environ.get": _from_environment,
    "os.environ.setdefault": _set_variable,
    "os.environ.update": _update_variables,
    "os.getenv": _from_environment,
    "os.path.join": _join_path,
    "os.putenv": _set_variable,
}
