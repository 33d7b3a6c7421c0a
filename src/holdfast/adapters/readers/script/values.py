"""What a script's values are, as far as its text tells: the reader's own view of them.

Plain values stand for themselves, `Unknown` for what the text does not decide, and `Named` for a library's names. The
rest is here: dicts, whose entries remember where they were written; things that calls made; and the program's own
functions and classes. Nothing here is changed in place but `ObjectValue.library_call`, `ProgramClass` and `LibraryCall`: what a program changes lies
in the reading's store, under an address, so that the two branches of an `if` can be kept apart and joined.

Frozen dataclasses with comparison would say so too, but take a quarter of the time that the whole reader takes to import.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from holdfast.core.job.api import Parameter
from holdfast.core.job.calls import Guard, ParserOption, ParserOptions
from holdfast.core.job.document import Unknown
from holdfast.core.job.expressions import reason_among
from holdfast.core.text.places import Place

VERSION: Final = Unknown("it depends on the installed versions")
AVAILABLE: Final = Unknown("it depends on what is installed")
INSTALLED: Final = (VERSION, AVAILABLE)
"""Why a value is not known that tells what is installed: what hangs on it may be there for just those versions."""
COMMAND_LINE: Final = Unknown("it comes from the command line")
BRANCHES: Final = Unknown("it differs between branches")
PARAMETER: Final = Unknown("it is handed to the function")
CHANGED: Final = Unknown("it is changed after it was made")

ITEMS: Final = "[]"
"""The name of a slot of a thing whose items were given other values."""

Via = Literal["call", "partial", "super", "parser"]


@dataclass(slots=True, eq=False, repr=False)
class Slot:
    """A value with the places of its expression and of the name it is given under; of a parsed option, also the option."""

    value: Any
    place: Place | None = None
    key_place: Place | None = None
    option: ParserOption | None = None


@dataclass(slots=True, eq=False, repr=False)
class KnownItems:
    """What a dict holds, or which attributes were set: by name, and whether there may be more than can be seen."""

    slots: Mapping[Any, Slot] = field(default_factory=dict[Any, Slot])
    open: bool = False

    def with_slot(self, name: Any, slot: Slot) -> "KnownItems":
        """Return a copy with one entry set."""
        return KnownItems({**self.slots, name: slot}, self.open)

    def without(self, name: Any) -> "KnownItems":
        """Return a copy that lacks an entry."""
        return KnownItems({other: slot for other, slot in self.slots.items() if other != name}, self.open)

    def merged(self, other: "KnownItems") -> "KnownItems":
        """Return the items of `{**self, **other}`."""
        return KnownItems({**self.slots, **other.slots}, self.open or other.open)

    def opened(self, because: Unknown | None = None) -> "KnownItems":
        """Return a copy that may hold more, and, for a reason, whose values may all be others."""
        slots = {name: Slot(because, slot.place, slot.key_place) for name, slot in self.slots.items()}
        return KnownItems(slots if because else self.slots, open=True)


@dataclass(slots=True, eq=False, repr=False)
class Ref:
    """A dict: the address of its entries."""

    address: int


@dataclass(slots=True, eq=False, repr=False)
class LibraryCall:
    """A call of something that a library provides, while the program is read.

    Attributes:
        node: What was written; it may be come upon several times, with other values.
        flags: Of a parser, what its dataclasses take that the program defines all by itself.
        own_places: Where the defaults of arguments stand that a class of the program adds.
        positional_places: Where those that are given by position stand; none where some are spread.
        receiver: For a method, the thing it was called on.
        order: By which the calls stand in the source: the line and the column of the name.
        unbound: Whether it is a method that is called on its class.
        made: Addresses of what it made.
        main: Whether it stands in the script itself, not in a file beside it.
        same: Names of keywords that are written as one and the same variable, or item of it.
        fields: Of a parser of dataclasses that reads the command line, the fields that the program defines itself.
        parser: Of argparse's `parse_args`, the options of its parser, where all can be seen.
    """

    node: ast.AST
    path: str
    label: str
    arguments: dict[str, Slot]
    positional: list[Any]
    open: bool
    own: frozenset[str]
    place: Place
    name_place: Place
    guard: Guard
    via: Via
    receiver: "ObjectValue | Member | None"
    unbound: bool
    main: bool
    order: tuple[int, int]
    positional_places: tuple[Place | None, ...]
    flags: frozenset[str] = frozenset()
    own_places: Mapping[str, Place] = field(default_factory=dict[str, Place])
    made: list[int] = field(default_factory=list[int])
    same: tuple[frozenset[str], ...] = ()
    fields: tuple[Parameter, ...] = ()
    parser: ParserOptions | None = None


@dataclass(slots=True, eq=False, repr=False)
class PendingRead:
    """An attribute of settings that the program reads, while it is read itself.

    Attributes:
        name: The attribute.
        place: Where it is named.
        guard: What stands around it, on every way on which it was come upon.
        things: What it was read of, on each of these ways.
    """

    name: str
    place: Place
    guard: Guard
    things: "list[ObjectValue]" = field(default_factory=list["ObjectValue"])


@dataclass(slots=True, eq=False, repr=False)
class ObjectValue:
    """What a call made: an instance of a library's class or of one of the program's own, or what a function gave.

    Attributes:
        path: What was called; empty for a class that derives from no library's.
        library_call: The call; None if it is not known which.
        address: Of the attributes set since.
        cls: The program's own class, if it is one.
    """

    path: str
    library_call: LibraryCall | None
    address: int
    cls: "ProgramClass | None" = None

    @property
    def things(self) -> "tuple[ObjectValue]":
        """Itself, as the one thing that it may be."""
        return (self,)

    @property
    def base(self) -> str:
        """The path that its attributes continue: an instance's is its class, another's ends in `()`."""
        return self.path if self.is_instance else f"{self.path}()"

    @property
    def is_instance(self) -> bool:
        """Whether it is an object of the class named, not what a function or a class method gave."""
        return is_class(self.path) or self.cls is not None


@dataclass(slots=True, eq=False, repr=False)
class Member:
    """Something reached from a thing, by attribute or index: `trainer.model`, `dataset["train"]`.

    Attributes:
        path: How it is reached.
        thing: From what.
        item: The text that is its index; empty if it has none, or another.
    """

    path: str
    thing: ObjectValue
    item: str = ""


@dataclass(slots=True, eq=False, repr=False)
class AnyOf:
    """What one of several calls of the same name made.

    Attributes:
        path: What was called.
        things: What each of them made, as far as it is known.
    """

    path: str
    things: "tuple[ObjectValue, ...]" = ()


@dataclass(slots=True, eq=False, repr=False)
class ProgramFunction:
    """A function of the program, or a lambda.

    Attributes:
        scope: Where it was defined.
        defaults: Its parameters' default values, by name.
        decorated: Whether a decorator may hand it other arguments, or have its result.
        owner: The class whose method it is.
        guard: What stands around its definition.
    """

    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Any
    defaults: Mapping[str, Slot]
    decorated: bool = False
    owner: "ProgramClass | None" = None
    kind: Literal["function", "static", "class", "property"] = "function"
    guard: Guard = field(default_factory=Guard)

    @property
    def is_bound(self) -> bool:
        """Whether its first parameter is its instance, or its class."""
        return self.owner is not None and self.kind != "static"


@dataclass(slots=True, eq=False, repr=False)
class ProgramClass:
    """A class of the program.

    Attributes:
        number: Of the frame that holds its attributes.
        bases: Its bases, in order.
        fields: Parameters that it adds as a dataclass, in order.
        is_dataclass: Whether the decorator makes its `__init__`.
        opaque: Whether a decorator, metaclass or `__new__` may change what a call of it takes.
        instance: One of its instances, for methods that nothing in the program calls.
    """

    name: str
    node: ast.ClassDef
    number: int
    bases: Sequence[Any] = ()
    fields: Mapping[str, Slot | None] = field(default_factory=dict[str, Slot | None])
    is_dataclass: bool = False
    opaque: bool = False
    instance: ObjectValue | None = None


@dataclass(slots=True, eq=False, repr=False)
class BoundMethod:
    """A method of the program, bound to an instance or a class."""

    function: ProgramFunction
    receiver: Any


@dataclass(slots=True, eq=False, repr=False)
class Super:
    """`super()` in a method."""

    cls: ProgramClass
    receiver: Any


@dataclass(slots=True, eq=False, repr=False)
class Partial:
    """`functools.partial(...)`: what will be called, and what it is given already."""

    target: Any
    positional: Sequence[Any]
    given: KnownItems
    library_call: LibraryCall | None


@dataclass(slots=True, eq=False, repr=False)
class Sibling:
    """A module that stands beside the script: the frame that holds its names."""

    scope: Any


def why(values: Iterable[Any]) -> Unknown:
    """Return why what some values yield is not known; that it hangs on what is installed goes before other reasons."""
    given = list(values)
    return next((reason for reason in INSTALLED if reason in given), None) or reason_among(given)


def is_class(path: str) -> bool:
    """True if a dotted path names a class, going by its spelling: `trl.SFTConfig`, not `trl.SFTConfig.from_x`.

    >>> is_class("trl.SFTConfig"), is_class("datasets.load_dataset")
    (True, False)
    """
    name = path.rpartition(".")[2].lstrip("_")
    return name[:1].isupper() and not name.isupper()
