"""What a library's version takes: signatures of its classes and functions, and when each part of them was there.

Values only; the history of released versions is behind `catalog.api`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Literal


class Required(Enum):
    """The one value `REQUIRED`: a parameter without a default."""

    REQUIRED = "required"


REQUIRED: Final = Required.REQUIRED


@dataclass(frozen=True, slots=True)
class Span:
    """Some consecutive releases of one package.

    Attributes:
        package: The package.
        first: The earliest of them.
        last: The latest of them; None if that is the newest release known.
        after: The first release that is no longer among them; None if there is none.
    """

    package: str
    first: str
    last: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Deprecation:
    """A warning that a library gives for an argument.

    Attributes:
        message: Its own words; they often name a wrong version.
        condition: The Python expression over the arguments' names that guards it; empty if it is always given.
        raises: Whether it is an error instead.
    """

    message: str
    condition: str = ""
    raises: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a class or a function, in the versions at hand.

    Attributes:
        name: Its name.
        default: A plain value, REQUIRED, or Unknown if the default is no literal.
        types: Names of the plain types it may have (bool, int, float, str, dict, list, null); empty if any may be,
            or where they are not known.
        choices: The values it may have; none if any may.
        enforced: Whether another value than these raises when the call is made from Python. `metadata` choices of a
            dataclass are only enforced where a command line is parsed.
        deprecation: The warning for it, if there is one.
        home: Path of the class that declares it: for most of SFTConfig's that is transformers' TrainingArguments.
        annotation: As the source writes it; empty if there is none.
    """

    name: str
    default: Any = REQUIRED
    types: frozenset[str] = frozenset()
    choices: tuple[Any, ...] = ()
    enforced: bool = False
    deprecation: Deprecation | None = None
    home: str = ""
    annotation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSignature:
    """What a class or a function takes, in the versions at hand.

    Attributes:
        path: The path that was requested.
        home: Where it is defined.
        kind: Whether it is a class (then this is what makes an instance), a function, a method, or a command line.
        parameters: By name, in positional order, then those by keyword only. `self` is not among them.
        positional: How many may be given by position; None if it is not known.
        open: Whether it takes keywords beside these, or a base of it is not known: then no claim about a missing name.
        swallows: Whether it takes unknown keywords and does nothing with them but log a line.
        shims: Names it takes for others by a decorator, with the name each stands for; None if it is just dropped.
        deprecated: The warning that every call of it gives, in the library's own words; empty if there is none.
    """

    path: str
    home: str
    kind: Literal["class", "function", "method", "command"]
    parameters: Mapping[str, Parameter] = field(default_factory=dict[str, Parameter])
    positional: int | None = None
    open: bool = False
    swallows: bool = False
    shims: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    deprecated: str = ""

    def takes(self, name: str) -> bool:
        """True if a keyword raises no TypeError."""
        return self.open or self.swallows or name in self.parameters or name in self.shims
