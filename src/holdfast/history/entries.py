"""What one release says of a class, a function, a module: values without history."""

from dataclasses import dataclass, field

Warned = tuple[str, str, bool]
"""A message, the condition over the arguments' names that guards it, and whether it is an error."""


@dataclass(slots=True)
class ParameterEntry:
    """One parameter.

    Attributes:
        default: Python source; None if it is required.
        annotation: In the newer spelling; None if there is none.
        choices: The values it may have; None if any may.
        enforced: Whether Python refuses others.
        warnings: What a call that gives it may be warned of.
        home: The class it is inherited from; empty if it is the class's own.
    """

    default: str | None
    annotation: str | None = None
    choices: list[object] | None = None
    enforced: bool = False
    warnings: list[Warned] = field(default_factory=list[Warned])
    home: str = ""


@dataclass(slots=True, kw_only=True)
class Callee:
    """What a function, a method or a class takes.

    Attributes:
        parameters: By name, in positional order, then those by keyword only.
        positional: How many of them may be given by position; None if it is not known.
        keywords: What becomes of other keywords: None (refused), "forward", "open" or "swallow".
        shims: Names it takes for others.
        deprecated: The warning that every call gives; None if there is none.
    """

    parameters: dict[str, ParameterEntry] = field(default_factory=dict[str, ParameterEntry])
    positional: int | None = 0
    keywords: str | None = None
    shims: dict[str, str | None] = field(default_factory=dict[str, str | None])
    deprecated: str | None = None


@dataclass(slots=True, kw_only=True)
class ClassEntry(Callee):
    """A class.

    Attributes:
        kind: "dataclass", "init", "inherits" or "plain".
        bases: Ancestors in other packages, nearest first.
        ancestors: Homes of those in its own package, nearest first.
        methods: Its own ones.
        checks: A method's name and the program of its combination checks.
    """

    kind: str = "plain"
    bases: list[str] = field(default_factory=list[str])
    ancestors: list[str] = field(default_factory=list[str])
    methods: dict[str, Callee] = field(default_factory=dict[str, Callee])
    checks: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class ModuleEntry:
    """A module: its names, each with the path it is described under (empty: under this module, or not at all)."""

    names: dict[str, str] = field(default_factory=dict[str, str])
    dynamic: bool = False


@dataclass(slots=True, kw_only=True)
class Release:
    """What one release offers."""

    package: str
    version: str
    date: str
    python: str | None
    requires: list[str]
    extras: dict[str, list[str]]
    modules: dict[str, ModuleEntry] = field(default_factory=dict[str, ModuleEntry])
    classes: dict[str, ClassEntry] = field(default_factory=dict[str, ClassEntry])
    functions: dict[str, Callee] = field(default_factory=dict[str, Callee])
    enums: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    commands: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
