"""What calls give: those of libraries are recorded, functions and classes of the program are gone into."""

import ast
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from holdfast.adapters.readers.script.argparse_parsers import is_parser
from holdfast.adapters.readers.script.expressions import reading_of
from holdfast.adapters.readers.script.functions import construct, enter, initialise_base
from holdfast.adapters.readers.script.guards import patches
from holdfast.adapters.readers.script.known_calls import FUNCTIONS as PLAIN_CALLS
from holdfast.adapters.readers.script.known_calls import Known, installed_reason
from holdfast.adapters.readers.script.objects import attribute_of, dotted, settled
from holdfast.adapters.readers.script.parsers import FUNCTIONS as PARSERS
from holdfast.adapters.readers.script.reading import ExpressionHandler, ReadingState
from holdfast.adapters.readers.script.reads import expose, expose_viewed
from holdfast.adapters.readers.script.record import (
    CallArguments,
    Site,
    read_arguments,
    record,
    result_of,
    spread_entries,
)
from holdfast.adapters.readers.script.values import (
    CHANGED,
    INSTALLED,
    AnyOf,
    BoundMethod,
    KnownItems,
    Member,
    ObjectValue,
    Partial,
    ProgramClass,
    ProgramFunction,
    Ref,
    Slot,
    Super,
    why,
)
from holdfast.core.job.calls import LibraryName
from holdfast.core.job.document import Unknown
from holdfast.core.job.expressions import FUNCTIONS, UNKNOWN, call_pure, pure_method

LEAVE_SETTINGS: Final = frozenset({"trl", "transformers", "peft", "accelerate", "datasets", "torch", "wandb", "tqdm"})
"""Libraries that give the settings which they are handed no attributes of a program's own."""
READING: Final = frozenset({"copy", "get", "items", "keys", "values"})
"""Methods of a dict that leave it as it is."""
KNOWN: Final[Mapping[str, Known]] = {**PLAIN_CALLS, **PARSERS}


def _call(reading: ReadingState, node: ast.Call) -> Any:
    receiver: Any = None
    if isinstance(node.func, ast.Attribute):
        receiver = reading.value(node.func.value)
        callee = reading_of(attribute_of(reading, receiver, node.func.attr), node.func.attr)
    else:
        callee = reading.value(node.func)
    given = read_arguments(reading, node)
    if not isinstance(callee, ProgramFunction | BoundMethod):  # what those do is seen
        for path in patches(dotted(node.func).rpartition(".")[2], given.values):
            reading.patched[path] = "the script patches it"
    return apply(reading, Site(node, callee, receiver), given)


def apply(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    """Return the value of a call."""
    rule = CALLEES.get(type(site.callee), _of_plain)
    return rule(reading, site, arguments)


def _of_named(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    return _of_library(reading, site, site.callee.path, arguments)


def _of_part(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    return _of_library(reading, site, site.callee.path, arguments, site.receiver or site.callee.thing)


def _of_thing(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    return _of_library(reading, site, f"{site.callee.base}.__call__", arguments, site.callee)


def _of_function(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    return enter(reading, site.callee, arguments)


def _of_method(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    return enter(reading, site.callee.function, arguments, site.callee.receiver)


def _of_class(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    return construct(reading, site.callee, site, arguments)


def _of_library(reading: ReadingState, site: Site, path: str, arguments: CallArguments, receiver: Any = None) -> Any:
    package, _, name = path.partition(".")
    if package == "builtins":
        return _of_builtin(reading, site, name, arguments)
    if isinstance(site.receiver, Super):
        return _of_base(reading, site.receiver, site, path, arguments)
    held = receiver if isinstance(receiver, ObjectValue | Member) else None
    library_call = record(reading, site, path, arguments, receiver=held)
    _expose_to(reading, package, arguments.values)
    reason = installed_reason(path, arguments.values)
    if reason is not None:
        return reason
    known = KNOWN.get(path)
    return (
        known(reading, replace(site, library_call=library_call), arguments)
        if known
        else result_of(reading, library_call)
    )


def _of_base(reading: ReadingState, parent: Super, site: Site, path: str, arguments: CallArguments) -> Any:
    return initialise_base(reading, parent, site, arguments) if path.endswith(".__init__") else UNKNOWN


def _expose_to(reading: ReadingState, package: str, values: list[Any]) -> None:
    """Note that a library is handed some values, to which it may give attributes."""
    if package not in sys.stdlib_module_names:
        expose(reading, filter(is_parser, values) if package in LEAVE_SETTINGS else values)


def _of_builtin(reading: ReadingState, site: Site, name: str, arguments: CallArguments) -> Any:
    known = KNOWN.get(f"builtins.{name}")
    if known:
        return known(reading, site, arguments)
    if name not in FUNCTIONS or arguments.open:
        return why(arguments.values)
    values = [settled(reading, slot.value) for slot in arguments.positional]
    return call_pure(FUNCTIONS[name], values)


def _of_partial(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    partial: Partial = site.callee
    positional = [*(Slot(value) for value in partial.positional), *arguments.positional]
    merged = CallArguments(positional, partial.given.merged(arguments.named), arguments.more)
    if partial.library_call is not None:  # the callee is recorded with all its arguments instead
        reading.library_calls.pop((id(partial.library_call.node), partial.library_call.path, "partial"), None)
    return apply(reading, Site(site.node, partial.target), merged)


def _of_plain(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    """Return the value of a method call on a plain value or a dict, or of a call of something that is not known."""
    name = getattr(site.node.func, "attr", "")
    if isinstance(site.receiver, Ref):
        return _of_dict(reading, site.receiver, name, arguments)
    if isinstance(site.receiver, list):
        return _of_list(reading, site, name, arguments)
    method = pure_method(site.receiver, name)
    if method is None or arguments.open:
        return _of_unseen(reading, site, arguments)
    return _of_pure(reading, method, arguments)


def _of_pure(reading: ReadingState, method: Callable[..., Any], arguments: CallArguments) -> Any:
    values = [settled(reading, slot.value) for slot in arguments.positional]
    named = {str(key): settled(reading, slot.value) for key, slot in arguments.named.slots.items()}
    return call_pure(method, values, **named)


def _of_unseen(reading: ReadingState, site: Site, arguments: CallArguments) -> Unknown:
    """Return why it is not known what a call gives; it may change the dicts that it is handed."""
    if isinstance(site.callee, Unknown):
        for value in arguments.values:
            if isinstance(value, Ref):
                reading.store[value.address] = reading.entries(value.address).opened(CHANGED)
        expose(reading, arguments.values)
    return why([site.receiver, site.callee, *(value for value in arguments.values if value in INSTALLED)])


def _of_list(reading: ReadingState, site: Site, name: str, arguments: CallArguments) -> Any:
    """Read a method of a list; one that changes it gives its name another value."""
    func = site.node.func
    if name in {"index", "count", "copy"} or not isinstance(func, ast.Attribute):
        return list(site.receiver) if name == "copy" else UNKNOWN
    reading.assign(func.value, _changed_list(site.receiver, name, arguments))
    return None if name in {"append", "extend"} else UNKNOWN


def _changed_list(values: list[Any], method: str, arguments: CallArguments) -> list[Any] | Unknown:
    match method, [slot.value for slot in arguments.positional]:
        case "append", [value]:
            return [*values, value]
        case "extend", [list() | tuple() as more]:
            return [*values, *more]
        case _:
            return UNKNOWN


def _of_dict(reading: ReadingState, ref: Ref, name: str, arguments: CallArguments) -> Any:
    rule = DICT_METHODS.get(name)
    if name not in READING:
        expose_viewed(reading, ref)
    if rule is not None:
        return rule(reading, ref, arguments)
    method = pure_method(settled(reading, ref), name)
    return call_pure(method, []) if method and not arguments.values else UNKNOWN


def _update(reading: ReadingState, ref: Ref, arguments: CallArguments) -> Any:
    entries = reading.entries(ref.address)
    for slot in arguments.positional:
        entries = entries.merged(spread_entries(reading, slot.value))
    reading.store[ref.address] = entries.merged(arguments.named)
    return None


def _pop(reading: ReadingState, ref: Ref, arguments: CallArguments) -> Any:
    entries, key = reading.entries(ref.address), arguments.argument(0, "")
    known = isinstance(key, str | int)
    reading.store[ref.address] = entries.without(key) if known else entries.opened(CHANGED)
    return entries.slots[key].value if known and key in entries.slots else UNKNOWN


def _set_default(reading: ReadingState, ref: Ref, arguments: CallArguments) -> Any:
    entries, key = reading.entries(ref.address), arguments.argument(0, "")
    if not isinstance(key, str) or not arguments.positional:
        reading.store[ref.address] = entries.opened(CHANGED)
        return UNKNOWN
    if key not in entries.slots:
        slot = Slot(arguments.argument(1, ""), arguments.positional[-1].place, arguments.positional[0].place)
        entries = entries.with_slot(key, slot)
        reading.store[ref.address] = entries
    return entries.slots[key].value


def _get(reading: ReadingState, ref: Ref, arguments: CallArguments) -> Any:
    entries, key = reading.entries(ref.address), arguments.argument(0, "")
    if isinstance(key, str) and key in entries.slots:
        return entries.slots[key].value
    return arguments.argument(1, "") if isinstance(key, str) and not entries.open else UNKNOWN


def _copied(reading: ReadingState, ref: Ref, _: CallArguments) -> Any:
    return reading.fresh(reading.entries(ref.address))


def _emptied(reading: ReadingState, ref: Ref, _: CallArguments) -> Any:
    reading.store[ref.address] = KnownItems(open=True)
    return UNKNOWN


DICT_METHODS: Final[Mapping[str, Callable[[ReadingState, Ref, CallArguments], Any]]] = {
    "clear": _emptied,
    "copy": _copied,
    "get": _get,
    "pop": _pop,
    "popitem": _emptied,
    "setdefault": _set_default,
    "update": _update,
}
CALLEES: Final[Mapping[type[Any], Callable[[ReadingState, Site, CallArguments], Any]]] = {
    ProgramClass: _of_class,
    ProgramFunction: _of_function,
    BoundMethod: _of_method,
    LibraryName: _of_named,
    Member: _of_part,
    Partial: _of_partial,
    AnyOf: _of_named,
    ObjectValue: _of_thing,
}
EXPRESSIONS: Final[Mapping[type[ast.AST], ExpressionHandler]] = {ast.Call: _call}
