"""The state of reading a program: its names and dicts, what stands around the current line, and what was found.

The modules beside this one are tables of handlers, one for each kind of node; `ReadingState.value`, `statement`, `block` and `assign` look
them up. A program is read in the order in which it would run. Where a condition is not known, both branches are read, each on
its own copy of the store, and what differs after them is `Unknown`.
"""

import ast
import builtins
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, Literal

from holdfast.adapters.readers.script.guards import PATCHERS
from holdfast.adapters.readers.script.join import joined_stores
from holdfast.adapters.readers.script.places import PlaceFinder
from holdfast.adapters.readers.script.values import (
    BRANCHES,
    KnownItems,
    LibraryCall,
    PendingRead,
    ProgramClass,
    ProgramFunction,
    Ref,
    Slot,
)
from holdfast.adapters.readers.settings import SettingsFiles
from holdfast.catalog.api.history import load_history
from holdfast.core.job.calls import Guard, Import, LibraryName
from holdfast.core.job.document import Unknown
from holdfast.core.job.expressions import UNKNOWN
from holdfast.core.text.places import Place

BUILTINS: Final = frozenset(dir(builtins))
OPEN: Final = Guard()
DEAD: Final = Guard(because="in code that never runs", unreachable=True)


@dataclass(slots=True, eq=False, repr=False)
class Scope:
    """The names of one module, or of one call of a function.

    Attributes:
        number: What tells it apart in the store.
        parent: The frame whose names it sees too.
        elsewhere: Names that belong to another frame: `global x`.
        returns: What the function returned so far.
        guard: What stands around the rest of it, since a check of versions that leaves it.
        stars: Modules whose names are all imported.
        owner: Of a method: its class and what it is bound to.
        branches: How many unsure branches it was entered in.
    """

    number: int
    parent: "Scope | None"
    places: PlaceFinder
    kind: Literal["module", "function", "class"] = "module"
    elsewhere: dict[str, "Scope"] = field(default_factory=dict[str, "Scope"])
    returns: list[Any] = field(default_factory=list[Any])
    guard: Guard = OPEN
    stars: list[str] = field(default_factory=list[str])
    owner: tuple[Any, Any] | None = None
    branches: int = 0

    @property
    def module(self) -> "Scope":
        """The frame of the module it stands in."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeHandlers:
    """How each kind of node is read.

    Attributes:
        expressions: Return the value of an expression, and record the calls in it.
        statements: Read a statement; true if the program does not go on after it.
        block: Reads statements in order; true if the program does not reach their end.
        assign: Gives a target of an assignment a value.
    """

    expressions: Mapping[type[ast.AST], "ExpressionHandler"]
    statements: Mapping[type[ast.AST], "StatementHandler"]
    block: Callable[["ReadingState", Sequence[ast.stmt]], bool]
    assign: Callable[["ReadingState", ast.expr, Any, ast.expr | None], None]


@dataclass(slots=True, eq=False, repr=False)
class ReadingState:
    """Everything that is known so far.

    Attributes:
        handlers: How each kind of node is read.
        beside: Gives the text of a module that stands beside the script.
        argv: The command line's arguments, if one goes with the script.
        argv_places: Where each of them is written; empty if no file holds them.
        by_default: Whether options are taken to have their defaults where it is not known what the command line gives.
        assumed: The options that were taken so.
        has_defaults: Whether there is an option that could be.
        files: Gives the settings of a file that these name.
        store: Values of names by (frame, name), and entries by address.
        scope: Whose names are at hand.
        guard: What stands around the current line, from `try` and `if`.
        rest: What stands around everything from here on: a check of versions that ends the program.
        library_calls: The calls, by node, path and kind.
        log: Every call come upon, in order, to compare the branches of an `if`.
        fallbacks: Imports that stand in for one another, by the places of each arm's.
        reads: Attributes of settings that are read, by node.
        written: Names of the attributes that the program sets, on whatever it sets them; `*` where any may be.
        exposed: Addresses of the things that code was handed which is not seen.
        asked: Texts that the program looks for in something, by `in` or `hasattr`, before it reads them.
        namespaces: The attributes of what parsers gave, by address.
        origins: Attributes that the command line may give a value, by the identity of the node that reads them.
        views: Addresses of things by those of the dicts that hold their attributes: `vars(args)`.
        functions: The program's own, in order of definition.
        reached: Those that were called.
        constructed: Classes of the program that it makes instances of, in order.
        stack: Those being called now.
        modules: Frames of the modules beside the script; None for those that are not there.
        variables: Environment variables that the program sets.
        patched: Dotted paths that the program gives another value, and what stands for all of them.
        specs: The arguments of command-line parsers, by the parser's address.
        trees: Syntax trees of modules beside the script, kept so that no two nodes share an identity.
        loops: How many loops are being read.
        branches: How many branches are being read of which it is not known whether they are taken.
        path: Name of the script.
    """

    handlers: "NodeHandlers"
    scope: Scope
    beside: Callable[[str], str | None] | None
    argv: Sequence[str | Unknown] | None
    argv_places: Sequence[Place]
    files: SettingsFiles | None
    by_default: bool
    assumed: dict[str, None] = field(default_factory=dict[str, None])
    has_defaults: bool = False
    store: dict[Any, Any] = field(default_factory=dict[Any, Any])
    guard: Guard = OPEN
    rest: Guard = OPEN
    library_calls: dict[Any, LibraryCall] = field(default_factory=dict[Any, LibraryCall])
    log: list[LibraryCall] = field(default_factory=list[LibraryCall])
    imports: dict[Place, Import] = field(default_factory=dict[Place, Import])
    fallbacks: dict[tuple[tuple[Place, ...], ...], None] = field(
        default_factory=dict[tuple[tuple[Place, ...], ...], None]
    )
    reads: dict[int, PendingRead] = field(default_factory=dict[int, PendingRead])
    written: set[str] = field(default_factory=set[str])
    exposed: set[int] = field(default_factory=set[int])
    asked: set[str] = field(default_factory=set[str])
    namespaces: dict[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])
    origins: dict[int, Slot] = field(default_factory=dict[int, Slot])
    views: dict[int, int] = field(default_factory=dict[int, int])
    functions: list[ProgramFunction] = field(default_factory=list[ProgramFunction])
    reached: dict[Any, int] = field(default_factory=dict[Any, int])
    constructed: dict[ProgramClass, None] = field(default_factory=dict[ProgramClass, None])
    stack: list[ProgramFunction] = field(default_factory=list[ProgramFunction])
    modules: dict[str, Scope | None] = field(default_factory=dict[str, Scope | None])
    variables: dict[str, Slot] = field(default_factory=dict[str, Slot])
    patched: dict[str, str] = field(default_factory=dict[str, str])
    specs: dict[int, Any] = field(default_factory=dict[int, Any])
    trees: list[ast.Module] = field(default_factory=list[ast.Module])
    loops: int = 0
    branches: int = 0
    path: str = field(init=False)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.path = self.scope.places.path

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression, and record the calls in it."""
        return self.handlers.expressions[type(node)](self, node)

    def statement(self, node: ast.stmt) -> bool:
        """Read a statement; true if the program does not go on after it."""
        return self.handlers.statements[type(node)](self, node)

    def block(self, statements: Sequence[ast.stmt]) -> bool:
        """Read statements in order; true if the program does not reach their end."""
        return self.handlers.block(self, statements)

    def assign(self, target: ast.expr, value: Any, node: ast.expr | None = None) -> None:
        """Give the target of an assignment a value; `node` is the value's expression, for its place."""
        self.handlers.assign(self, target, value, node)

    def place(self, node: ast.expr | ast.stmt | ast.keyword | ast.alias) -> Place:
        """Return where a node stands."""
        return self.scope.places.of(node)

    def fresh(self, entries: KnownItems) -> Ref:
        """Return a new dict."""
        ref = Ref(next(self.numbers))
        self.store[ref.address] = entries
        return ref

    def entries(self, address: int) -> KnownItems:
        """Return the items stored under an address."""
        held: KnownItems = self.store.get(address) or KnownItems()
        return held

    def lookup(self, name: str) -> Any:
        """Return the value of a name, as Python would find it."""
        scope: Scope | None = self.scope.elsewhere.get(name, self.scope)
        while scope is not None:
            if (scope.number, name) in self.store:
                return self.store[scope.number, name]
            scope = scope.parent
            while scope is not None and scope.kind == "class":
                scope = scope.parent
        if name in BUILTINS:
            return LibraryName(f"builtins.{name}")
        return _resolve_starred(self.scope.module.stars, name)

    def bind(self, name: str, value: Any) -> None:
        """Give a name a value, in the frame it belongs to."""
        scope = self.scope.elsewhere.get(name, self.scope)
        self.store[scope.number, name] = value

    def standing(self) -> Guard:
        """Return all that stands around the current line."""
        return both(both(self.guard, self.scope.guard), self.rest)

    @contextmanager
    def guarded(self, guard: Guard) -> Iterator[None]:
        """Read something within a `try` or a branch."""
        before = self.guard
        self.guard = both(before, guard)
        try:
            yield
        finally:
            self.guard = before

    @contextmanager
    def within(self, scope: Scope) -> Iterator[Scope]:
        """Read something in another frame, under all that stands around the current line."""
        before, guard = self.scope, self.guard
        self.guard = self.standing()
        self.scope = scope
        try:
            yield scope
        finally:
            self.scope, self.guard = before, guard

    def child(self, kind: Literal["function", "class"], parent: Scope | None = None) -> Scope:
        """Return a new frame that sees another's names: by default, the current one's."""
        seen = parent or self.scope
        return Scope(next(self.numbers), seen, seen.places, kind, branches=self.branches)

    def fork(self, branches: Sequence[Callable[[], bool]], because: Unknown = BRANCHES) -> bool:
        """Read branches of which any may be taken; tell whether none of them goes on."""
        before = self.store
        living: list[dict[Any, Any]] = []
        self.branches += 1
        for branch in branches:
            self.store = dict(before)
            if not branch():
                living.append(self.store)
        self.branches -= 1
        if not living:
            return True
        self.join(living, because)
        return False

    def join(self, stores: Sequence[dict[Any, Any]], because: Unknown) -> None:
        """Go on with what several branches leave, of which any may have been taken."""
        self.store = stores[0]
        for other in stores[1:]:
            self.store = joined_stores(self.store, other, because, self.numbers)


ExpressionHandler = Callable[[ReadingState, Any], Any]
StatementHandler = Callable[[ReadingState, Any], bool]


def note_patcher(reading: ReadingState, package: str) -> None:
    """Note that a package which replaces TRL's classes is imported; in a branch of a function, that is so from there on.

    What never runs replaces nothing; and what a helper does in one of its branches says nothing of the whole program.
    """
    if package not in PATCHERS or reading.standing().unreachable:
        return
    because = f"{package} replaces TRL's classes"
    if reading.scope.kind == "function" and reading.branches > reading.scope.branches:
        reading.guard = both(reading.guard, Guard(because=because))
    else:
        reading.patched.setdefault("*", because)


def both(outer: Guard, inner: Guard) -> Guard:
    """Return the guard of a line within two nested guards."""
    if inner is OPEN or outer is OPEN:
        return inner if outer is OPEN else outer
    return Guard(outer.catches | inner.catches, outer.because or inner.because, outer.unreachable or inner.unreachable)


def either(one: Guard, other: Guard) -> Guard:
    """Return the guard of a line that two paths reach: only conditions that hold on both."""
    if bool(one.because) is not bool(other.because):
        return other if one.because else one
    return Guard(one.catches & other.catches, one.because and other.because, one.unreachable and other.unreachable)


def _resolve_starred(modules: Sequence[str], name: str) -> Any:
    """Return what a name stands for that no statement binds but an import of all names.

    Of several modules, the last one that has the name gives it. Which names a module has is known of the libraries in the catalog,
    whatever their release. The standard library has none of theirs.

    Args:
        modules: The modules, in the order of their imports; an empty name is a module beside the script that was not found.
        name: The name.
    """
    if len(modules) == 1:
        return LibraryName(f"{modules[0]}.{name}") if modules[0] else UNKNOWN
    for module in reversed(modules):
        exports = _exports(module)
        if exports is None:
            return UNKNOWN
        if name in exports:
            return LibraryName(f"{module}.{name}")
    return UNKNOWN


def _exports(module: str) -> Collection[str] | None:
    """Return the names that a module has in any release, as far as they matter; None if they are not known."""
    package = module.partition(".")[0]
    history = load_history(package) if package else None
    if history:
        return history.exports(module)
    return () if package in sys.stdlib_module_names else None
