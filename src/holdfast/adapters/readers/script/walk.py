"""Statements: a handler for each kind of node. A handler returns true if the program does not go on after the statement."""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from holdfast.adapters.readers.script.expressions import item_of
from holdfast.adapters.readers.script.guards import (
    AFTER_VERSION_CHECK,
    IN_HANDLER,
    IN_VERSION_BRANCH,
    caught,
    ends,
    leaves_program,
    note_rivals,
    only_report_training,
)
from holdfast.adapters.readers.script.join import joined_stores
from holdfast.adapters.readers.script.known_calls import set_variable
from holdfast.adapters.readers.script.objects import set_attribute, settled
from holdfast.adapters.readers.script.reading import DEAD, ReadingState, StatementHandler, both
from holdfast.adapters.readers.script.reads import expose_viewed
from holdfast.adapters.readers.script.values import (
    AVAILABLE,
    CHANGED,
    INSTALLED,
    ITEMS,
    VERSION,
    LibraryCall,
    Member,
    ObjectValue,
    Ref,
    Slot,
)
from holdfast.core.job.calls import Guard, LibraryName
from holdfast.core.job.document import Unknown
from holdfast.core.job.expressions import UNKNOWN, apply_operator, join_lists, reason_among, truth
from holdfast.core.text.places import Place

MOST_LOOPS: Final = 2
"""Loops within loops that are read twice, to see what a second round changes; deeper ones are read once."""


def block(reading: ReadingState, statements: Sequence[ast.stmt]) -> bool:
    """Read statements; what follows one that ends the block never runs."""
    before, ended = reading.guard, False
    left: list[list[Any]] = []
    for statement in statements:
        begin = len(reading.log)
        try:
            stopped = reading.statement(statement)
        except RecursionError:  # an expression of a thousand terms: no setting
            stopped = False
        if stopped and not ended:
            ended, reading.guard = True, both(reading.guard, DEAD)
        if isinstance(statement, ast.If) and _leaves(statement):
            left.append([begin, len(reading.log)])
    for begin, end in left:  # what follows an `if` that returns is its `else`
        note_rivals([reading.log[begin:end], reading.log[end:]])
    reading.guard = before
    return ended


def _leaves(node: ast.If) -> bool:
    return isinstance(node.body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break) and not node.orelse


def _if(reading: ReadingState, node: ast.If) -> bool:
    holds = truth(settled(reading, reading.value(node.test)))
    if not isinstance(holds, Unknown):
        return _certain(reading, node, taken=holds)
    around = IN_VERSION_BRANCH if holds in INSTALLED else Guard()
    if holds == VERSION:
        _note_fallbacks(reading, [node.body, node.orelse])
    logs: list[Any] = []
    ended: list[bool] = []

    def branch(statements: Sequence[ast.stmt]) -> Callable[[], bool]:
        def run() -> bool:
            begin = len(reading.log)
            with reading.guarded(around):
                ended.append(reading.block(statements))
            logs.append(reading.log[begin:])
            return ended[-1]

        return run

    stopped = reading.fork([branch(node.body), branch(node.orelse)], holds if holds in INSTALLED else CHANGED)
    note_rivals(logs)
    if any(ended):
        _note_check(reading, node, holds)
    return stopped


def _note_check(reading: ReadingState, node: ast.If, holds: Unknown) -> None:
    """Guard what follows an `if` on what is installed that leaves the function, or on a version that ends the program."""
    final = ends(node.body) or ends(node.orelse)
    if holds == VERSION and final:
        reading.rest = both(reading.rest, AFTER_VERSION_CHECK)
    if holds == VERSION or (holds == AVAILABLE and not final):
        reading.scope.guard = both(reading.scope.guard, AFTER_VERSION_CHECK)


def _certain(reading: ReadingState, node: ast.If, *, taken: bool) -> bool:
    """Read an `if` of which one branch is certain; what the other would do to the store is dropped."""
    before = reading.store
    reading.store = dict(before)
    with reading.guarded(DEAD):
        reading.block(node.orelse if taken else node.body)
    reading.store = before
    return reading.block(node.body if taken else node.orelse)


def _for(reading: ReadingState, node: ast.For | ast.AsyncFor) -> bool:
    source = reading.value(node.iter)
    item = item_of(source) if isinstance(source, ObjectValue | Member) else reason_among([settled(reading, source)])

    def body() -> bool:
        reading.assign(node.target, item)
        return reading.block(node.body)

    return _loop(reading, node, body)


def _while(reading: ReadingState, node: ast.While) -> bool:
    def body() -> bool:
        reading.value(node.test)
        return reading.block(node.body)

    return _loop(reading, node, body)


def _loop(reading: ReadingState, node: ast.For | ast.AsyncFor | ast.While, body: Callable[[], bool]) -> bool:
    """Read a loop's body as often as shows what one round leaves to the next; then its `else`, which `break` passes by."""
    reading.loops += 1
    for _ in range(2 if reading.loops <= MOST_LOOPS else 1):
        before = reading.store
        reading.store = dict(before)
        body()
        reading.store = joined_stores(before, reading.store, CHANGED, reading.numbers)
    reading.loops -= 1
    broken = any(isinstance(each, ast.Break) for statement in node.body for each in ast.walk(statement))
    if not node.orelse or not broken:
        return reading.block(node.orelse)
    return reading.fork([lambda: reading.block(node.orelse), lambda: False])


def _try(reading: ReadingState, node: ast.Try) -> bool:
    before, begin = reading.store, len(reading.log)
    reading.store = dict(before)
    takes = _taken(node.handlers)
    _note_fallbacks(reading, _alternatives(node))
    with reading.guarded(Guard(catches=takes)):
        stopped = reading.block(node.body)
    within = joined_stores(before, reading.store, AVAILABLE, reading.numbers)
    living = [] if stopped or reading.block(node.orelse) else [reading.store]
    tried = len(reading.log)
    living += _handled(reading, node.handlers, within)
    body = reading.log[begin:tried]
    if only_report_training(node.handlers, body, reading.log[tried:]):
        _remove_catches(body, takes - reading.guard.catches)
    reading.join(living or [within], AVAILABLE)
    return reading.block(node.finalbody) or not living


def _taken(handlers: Sequence[ast.ExceptHandler]) -> frozenset[str]:
    """Return the names of the exceptions after which the program goes on."""
    return frozenset[str]().union(*(caught(each.type) for each in handlers if not ends(each.body)))


def _alternatives(node: ast.Try) -> list[list[ast.stmt]]:
    """Return the statements that are tried, and what stands in for them where a module is not there."""
    handlers = (each for each in node.handlers if Guard(catches=caught(each.type)).tolerates("ModuleNotFoundError"))
    return [node.body, *(each.body for each in handlers)]


def _handled(
    reading: ReadingState, handlers: Sequence[ast.ExceptHandler], within: dict[Any, Any]
) -> list[dict[Any, Any]]:
    """Read handlers, each on its own copy of the store, and return the stores of those after which the program goes on."""
    living: list[dict[Any, Any]] = []
    for handler in handlers:
        reading.store = dict(within)
        if not _handler(reading, handler):
            living.append(reading.store)
    return living


def _remove_catches(calls: Sequence[LibraryCall], catches: frozenset[str]) -> None:
    """Take exceptions off the guards of calls: a handler that only reports a failure gives the program no other way."""
    for call in calls:
        call.guard = replace(call.guard, catches=call.guard.catches - catches)


def _note_fallbacks(reading: ReadingState, arms: Sequence[Sequence[ast.stmt]]) -> None:
    """Note imports of which the program needs those of one arm, where each arm has some and nothing else catches them."""
    imports = [[each for each in arm if isinstance(each, ast.Import | ast.ImportFrom)] for arm in arms]
    if (
        len(arms) > 1
        and all(imports)
        and reading.scope.module.number == 0
        and not reading.standing().tolerates("ImportError")
    ):
        places = tuple(tuple(reading.place(alias) for each in arm for alias in each.names) for arm in imports)
        reading.fallbacks[places] = None


def _handler(reading: ReadingState, handler: ast.ExceptHandler) -> bool:
    if handler.type is not None:
        reading.value(handler.type)
    if handler.name:
        reading.bind(handler.name, UNKNOWN)
    with reading.guarded(IN_HANDLER):
        return reading.block(handler.body)


def _with(reading: ReadingState, node: ast.With | ast.AsyncWith) -> bool:
    for item in node.items:
        _enter_context(reading, item)
    catches = frozenset[str]().union(*(_suppressed(item.context_expr) for item in node.items))
    with reading.guarded(Guard(catches=catches)):
        stopped = reading.block(node.body)
    return stopped and not catches


def _enter_context(reading: ReadingState, item: ast.withitem) -> None:
    value = reading.value(item.context_expr)
    if item.optional_vars is not None:
        kept = value if isinstance(value, ObjectValue) and value.is_instance else UNKNOWN
        reading.assign(item.optional_vars, kept)


def _suppressed(context: ast.expr) -> frozenset[str]:
    """Return the names of the exceptions that `suppress(…)` takes; of any other context there are none."""
    match context:
        case ast.Call(func=ast.Name(id="suppress") | ast.Attribute(attr="suppress"), args=classes):
            return frozenset[str]().union(*map(caught, classes))
        case _:
            return frozenset()


def _match(reading: ReadingState, node: ast.Match) -> bool:
    reading.value(node.subject)

    def branch(case: ast.match_case) -> Callable[[], bool]:
        def run() -> bool:
            for pattern in ast.walk(case.pattern):
                name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
                if isinstance(name, str):
                    reading.bind(name, UNKNOWN)
            if case.guard is not None:
                reading.value(case.guard)
            return reading.block(case.body)

        return run

    return reading.fork([*(branch(case) for case in node.cases), lambda: False])


def _expression(reading: ReadingState, node: ast.Expr) -> bool:
    reading.value(node.value)
    return leaves_program(node.value)


def _return(reading: ReadingState, node: ast.Return) -> bool:
    value = reading.value(node.value) if node.value is not None else None
    if not reading.standing().unreachable:
        reading.scope.returns.append(value)
    return True


def _raise(reading: ReadingState, node: ast.Raise) -> bool:
    for part in (node.exc, node.cause):
        if part is not None:
            reading.value(part)
    return True


def _jump(_: ReadingState, __: ast.stmt) -> bool:
    return True


def _nothing(_: ReadingState, __: ast.stmt) -> bool:
    return False


def _assert(reading: ReadingState, node: ast.Assert) -> bool:
    holds = truth(settled(reading, reading.value(node.test)))
    if node.msg is not None:
        reading.value(node.msg)
    if holds == VERSION:
        reading.rest = both(reading.rest, AFTER_VERSION_CHECK)
    return False


def _assign(reading: ReadingState, node: ast.Assign) -> bool:
    value = reading.value(node.value)
    for target in node.targets:
        reading.assign(target, value, node.value)
    return False


def _annotated(reading: ReadingState, node: ast.AnnAssign) -> bool:
    if node.value is not None:
        reading.assign(node.target, reading.value(node.value), node.value)
    return False


def _augmented(reading: ReadingState, node: ast.AugAssign) -> bool:
    added = reading.value(node.value)
    if isinstance(node.target, ast.Name | ast.Attribute | ast.Subscript):
        load = ast.copy_location(_loaded(node.target), node.target)
        old = reading.value(load)
        if isinstance(old, Ref) and isinstance(added, Ref):
            expose_viewed(reading, old)
            reading.store[old.address] = reading.entries(old.address).merged(reading.entries(added.address))
            return False
        if isinstance(old, list) and isinstance(added, list) and isinstance(node.op, ast.Add):
            value: Any = join_lists(old, added)
        else:
            value = apply_operator(node.op, settled(reading, old), settled(reading, added))
        reading.assign(node.target, value, node.value)
    return False


def _loaded(node: ast.Name | ast.Attribute | ast.Subscript) -> ast.expr:
    """Return a target of an assignment as an expression."""
    if isinstance(node, ast.Name):
        return ast.Name(node.id, ast.Load())
    if isinstance(node, ast.Attribute):
        return ast.Attribute(node.value, node.attr, ast.Load())
    return ast.Subscript(node.value, node.slice, ast.Load())


def _delete(reading: ReadingState, node: ast.Delete) -> bool:
    for target in node.targets:
        if isinstance(target, ast.Name):
            reading.bind(target.id, UNKNOWN)
        elif isinstance(target, ast.Subscript):
            held, name = reading.value(target.value), reading.value(target.slice)
            if isinstance(held, Ref):
                entries = reading.entries(held.address)
                known = isinstance(name, str | int)
                reading.store[held.address] = entries.without(name) if known else entries.opened(CHANGED)
    return False


def assign(reading: ReadingState, target: ast.expr, value: Any, node: ast.expr | None) -> None:
    """Give the target of an assignment a value; `node` is the value's expression, for its place."""
    match target:
        case ast.Name(id=name):
            reading.bind(name, value)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            _unpack(reading, parts, value)
        case ast.Starred(value=inner):
            reading.assign(inner, UNKNOWN)
        case ast.Attribute(value=owner, attr=name):
            slot = _given_slot(reading, value, node, reading.scope.places.last_name(target))
            reading.written.add(name)
            set_attribute(reading, reading.value(owner), name, slot)
        case ast.Subscript():
            _store_item(reading, target, value, node)
        case _:  # nothing else can be assigned to
            pass


def _given_slot(reading: ReadingState, value: Any, node: ast.expr | None, key_place: Place) -> Slot:
    return Slot(value, reading.place(node) if node else None, key_place)


def _unpack(reading: ReadingState, parts: Sequence[ast.expr], value: Any) -> None:
    counted = isinstance(value, list | tuple) and len(value) == len(parts)
    if counted and not any(isinstance(part, ast.Starred) for part in parts):
        for part, each in zip(parts, value, strict=True):
            reading.assign(part, each)
        return
    each = item_of(value) if isinstance(value, ObjectValue | Member) else reason_among([value])
    for part in parts:
        reading.assign(part, each)


def _store_item(reading: ReadingState, target: ast.Subscript, value: Any, node: ast.expr | None) -> None:
    held, name = reading.value(target.value), reading.value(target.slice)
    slot = _given_slot(reading, value, node, reading.place(target.slice))
    match held:
        case Ref():
            _store_entry(reading, held, name, slot)
        case LibraryName() if isinstance(name, str):
            _store_in_library(reading, held.path, name, slot)
        case list():
            reading.assign(target.value, UNKNOWN)
        case ObjectValue():
            reading.store[held.address] = reading.entries(held.address).with_slot(ITEMS, Slot(CHANGED))
        case _:
            pass


def _store_entry(reading: ReadingState, held: Ref, name: Any, slot: Slot) -> None:
    expose_viewed(reading, held)
    entries = reading.entries(held.address)
    known = isinstance(name, str | int | float | None)
    reading.store[held.address] = entries.with_slot(name, slot) if known else entries.opened(CHANGED)


def _store_in_library(reading: ReadingState, path: str, name: str, slot: Slot) -> None:
    """Note an environment variable that the program sets, or a module that it puts in another's place."""
    if path == "os.environ":
        set_variable(reading, name, slot, slot)
    elif path == "sys.modules":
        reading.patched[name] = "the script puts another module in its place"


STATEMENTS: Final[Mapping[type[ast.AST], StatementHandler]] = {
    ast.AnnAssign: _annotated,
    ast.Assert: _assert,
    ast.Assign: _assign,
    ast.AsyncFor: _for,
    ast.AsyncWith: _with,
    ast.AugAssign: _augmented,
    ast.Break: _jump,
    ast.Continue: _jump,
    ast.Delete: _delete,
    ast.Expr: _expression,
    ast.For: _for,
    ast.If: _if,
    ast.Match: _match,
    ast.Pass: _nothing,
    ast.Raise: _raise,
    ast.Return: _return,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.While: _while,
    ast.With: _with,
}
