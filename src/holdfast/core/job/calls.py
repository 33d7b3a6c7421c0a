"""What a program says beside plain settings: its imports, its calls, and what may keep one of them from failing.

A job file, a script and a command line are all read into calls, so that a rule about an argument is written once:
`train:` of a job file is a call of the method's config class, and so are `SFTConfig(…)` and `trl sft --…`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from holdfast.core.job.api import Parameter
from holdfast.core.rows.columns import Type
from holdfast.core.text.places import Place

EVERYTHING: Final = frozenset({"Exception", "BaseException"})
"""What an `except` clause names to catch any error; so does one that names nothing, which counts as `Exception`."""

PARENTS: Final[Mapping[str, str]] = {"ModuleNotFoundError": "ImportError"}
"""Exceptions that are caught by another's name too."""


@dataclass(frozen=True, slots=True)
class Guard:
    """What stands around a statement and may keep it from failing, or from being reached at all.

    Attributes:
        catches: Names of the exceptions that an enclosing `try` handles, and does not raise again.
        because: Why nothing at all can be said of it, such as `in a branch on a library's version`; empty if it can.
        unreachable: Whether the program never runs it.
        in_handler: Whether it is in an `except` clause: the other way of what was tried, which runs only after an error, and may fail.
        wraps: Whether what nothing can be said of is a class that hands its arguments on to the constructor of the class that it
            replaces. What this constructor refuses of the arguments as they are written is then still an error.
    """

    catches: frozenset[str] = frozenset()
    because: str = ""
    unreachable: bool = False
    in_handler: bool = False
    wraps: bool = False

    def tolerates(self, exception: str) -> bool:
        """True if such an error would not end the program here, or may never happen.

        >>> Guard(catches=frozenset({"ImportError"})).tolerates("ModuleNotFoundError"), Guard().tolerates("TypeError")
        (True, False)
        """
        names = {exception, PARENTS.get(exception, exception)}
        return bool(self.because) or bool(self.catches & (names | EVERYTHING))

    def tolerates_refusal(self, exception: str) -> bool:
        """True if an error that a constructor raises for its arguments would not end the program here, or may never happen.

        >>> wrapped = Guard(because="unsloth replaces TRL's classes", wraps=True)
        >>> wrapped.tolerates("ValueError"), wrapped.tolerates_refusal("ValueError")
        (True, False)
        """
        return replace(self, because="" if self.wraps else self.because).tolerates(exception)


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One name that a program imports.

    Attributes:
        module: The module, absolute: `trl.trainer.sft_trainer`.
        name: What is taken from it; None of `import module`, `*` of all names.
        bound: The name it has in the program from there on.
        place: Where the name is written.
        guard: What stands around it.
    """

    module: str
    name: str | None
    bound: str
    place: Place
    guard: Guard = field(default_factory=Guard)


@dataclass(frozen=True, slots=True)
class LibraryName:
    """A value that is a name of a library, such as `torch.bfloat16` or a class that is handed on."""

    path: str


@dataclass(frozen=True, slots=True)
class CallResult:
    """A value that another call of the program gave, or an item of it.

    Attributes:
        path: What was called: `trl.SFTConfig`, `datasets.load_dataset`; of an item `datasets.load_dataset()[]`, of the names of
            its columns `datasets.load_dataset().column_names`.
        key: That call's key.
        item: Of an item, the text that names it: `train`; empty if it is none, or another.
    """

    path: str
    key: str
    item: str = ""


@dataclass(frozen=True, slots=True)
class LocalName:
    """A value that is a function or class of the program itself.

    Attributes:
        name: Its name.
        kind: Which of the two.
        parameters: Names of the parameters it takes, in order.
        open: Whether it takes any other keyword too.
        returns: What each of its `return` statements gives; empty if that differs, or cannot be read.
        keys: Those of the dicts that they give; empty if one of these is no literal.
        types: Types of the values under these keys, as far as their literals show them.
        required: Names of the parameters that have no default, in order.
        reads: Keys that a function surely reads of its first argument: `row["text"]`.
        element_reads: Keys that it surely reads of each element of its first argument: `[row["text"] for row in rows]`.
        completions: What a reward function surely takes each completion for: `record` where it reads `["content"]` of it.
        masks_prompt: Whether it surely writes `labels` that begin with -100.
        place: Where a function's name is defined in the program's own file; None for any other.
        body: Where its first statement stands there, after its docstring, if that begins a line; else None.
    """

    name: str
    kind: Literal["function", "class"]
    parameters: tuple[str, ...] = ()
    open: bool = False
    returns: Literal["", "list", "dict", "number", "text", "nothing"] = ""
    keys: tuple[str, ...] = ()
    types: Mapping[str, Type] = field(default_factory=dict[str, Type])
    required: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    element_reads: tuple[str, ...] = ()
    completions: Literal["", "text", "messages", "record"] = ""
    masks_prompt: bool = False
    place: Place | None = field(default=None, compare=False)
    body: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeRead:
    """One attribute that a program reads of its settings: `args.max_length`.

    Attributes:
        path: The library's class that holds them: `trl.SFTConfig`; empty if it is one of several, or the program's own.
        name: The attribute.
        key: The key path in the Document under which it stands: `reads.0`.
        calls: Keys of the calls that made the settings.
        place: Where the attribute is named.
        guard: What stands around it.
        exposed: Whether code that is not seen was handed the settings, and may have given them attributes of its own.
        own: Of a dataclass of the program or of what its parser gives: every attribute; None where not all can be seen.
    """

    path: str
    name: str
    key: str
    calls: tuple[str, ...] = ()
    place: Place
    guard: Guard = field(default_factory=Guard)
    exposed: bool = False
    own: "OwnAttributes | None" = None


@dataclass(frozen=True, slots=True)
class OwnAttributes:
    """The attributes of settings that a program defines itself.

    Attributes:
        owner: The name of their dataclass; empty for the options of an `argparse` parser.
        names: The attributes.
    """

    owner: str
    names: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OverriddenMethod:
    """A method of a library's class that a class of the program, which it makes an instance of, defines anew.

    Attributes:
        path: The library's: `trl.SFTTrainer.compute_loss`.
        label: How the program calls it: `MyTrainer.compute_loss`.
        key: The key path in the Document under which it stands: `overrides.0`.
        positional: Names of the parameters that it takes by position, in order, without `self`.
        parameters: Names of those that it takes by keyword.
        variadic: Whether it takes any more by position: `*args`.
        open: Whether it takes any other keyword: `**kwargs`.
        needed: Names of the parameters that must be given: those without a default, and those that are None by default and that the
            method uses as if they never were.
        beside: Names of all methods that the class and its bases in the program define.
        place: Where its name is written.
        guard: What stands around it.
    """

    path: str
    label: str
    key: str
    positional: tuple[str, ...]
    parameters: frozenset[str]
    variadic: bool
    open: bool
    needed: frozenset[str]
    beside: frozenset[str]
    place: Place
    guard: Guard


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserOption:
    """One option, or one positional argument, of a parser that a program puts together by `argparse`.

    Attributes:
        flags: Its spellings, `-l` and `--learning_rate`; of a positional argument its name.
        action: What is done with its values: `store`, `store_true`, `append`, `count`, …; `negatable` if `--no-x` is one of its flags;
            `field` of a field of the program's own dataclass, which a parser of dataclasses reads.
        count: How many values it takes, as `nargs` says it.
        kind: The type of its values: `int`, `float`, `bool` or `str`; empty for any other.
        choices: The values that it may have; None if any may be, or where they cannot be seen.
        required: Whether it must be given.
        default: Its value where it is not given, as the program writes it: text is converted like a word.
        place: The call that adds it.
    """

    flags: tuple[str, ...]
    action: str = "store"
    count: str | int | None = None
    kind: Literal["", "str", "int", "float", "bool"] = ""
    choices: tuple[str | int | float, ...] | None = None
    required: bool = False
    default: Any = None
    place: Place | None = None

    @property
    def name(self) -> str:
        """Its longest spelling: `--learning_rate`."""
        return max(self.flags, key=len, default="")

    @property
    def is_positional(self) -> bool:
        """Whether it has no flag."""
        return not self.flags or not self.flags[0].startswith("-")


@dataclass(frozen=True, slots=True)
class ParserOptions:
    """The options of a parser that a program puts together by `argparse`.

    Attributes:
        flags: All their spellings: `-l`, `--learning_rate`.
        every: The options themselves, in order.
    """

    flags: frozenset[str]
    every: tuple[ParserOption, ...] = ()

    @property
    def required(self) -> tuple[tuple[str, ...], ...]:
        """The spellings of each option that must be given."""
        return tuple(option.flags for option in self.every if option.required and not option.is_positional)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of something that a library provides.

    Values are plain (None, bool, int, float, str, list, tuple, dict), or Named, Made, Local, or Unknown.

    Attributes:
        path: What is called, by the name it was imported under: `trl.SFTConfig`; `trl.SFTTrainer.train` for a method
            of what a class made; `datasets.load_dataset().map` for a method of what a function returned.
        label: How the program writes it: `SFTConfig`, `trainer.train`, `MyConfig` of a subclass.
        key: The key path in the Document under which its arguments stand, by name.
        arguments: What is given by keyword, in order.
        positional: What is given by position; for a job file, nothing.
        open: Whether more may be given than can be seen: `**settings`, `*rest`.
        own: Arguments that a class of the program adds to those of the library's class it derives from.
        flags: Of a parser, what its dataclasses take that the program defines all by itself.
        place: The whole call.
        name_place: Where what is called is named: the primary location of a finding about the call itself.
        guard: What stands around it.
        via: How it comes to be called. `partial` gives only some arguments; `parser` reads them from a command line
            or a file, all as text or plain YAML values, and raises for names that it does not know.
        unbound: Whether a method is called on its class, `Trainer.save_model(mine)`: the first argument is what it is called for.
        defaults: Arguments that a parser takes from a file, as its own defaults: it does not compare them with choices.
        changed: Names of the attributes that the program gives to what the call made; `*` for any.
        receiver: Of a method, what it is called on, where that is what another call gave.
        same: Names of keywords that are given one and the same variable, or item of it: `train_dataset=rows, eval_dataset=rows`.
        fields: Of a parser of dataclasses that reads the command line, the fields that the program defines itself.
        parser: Of argparse's `parse_args` of the command line, the options; None where not all of them can be seen.
        options: The options of such a parser that are given as arguments just as they were parsed, by the argument's name.
    """

    path: str
    label: str
    key: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    positional: tuple[Any, ...] = ()
    open: bool = False
    own: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    place: Place
    name_place: Place
    guard: Guard = field(default_factory=Guard)
    via: Literal["call", "partial", "super", "parser", "file"] = "call"
    unbound: bool = False
    defaults: frozenset[str] = frozenset()
    receiver: CallResult | None = None
    changed: frozenset[str] = frozenset()
    same: tuple[frozenset[str], ...] = ()
    fields: tuple[Parameter, ...] = ()
    parser: ParserOptions | None = None
    options: Mapping[str, ParserOption] = field(default_factory=dict[str, ParserOption])

    @property
    def package(self) -> str:
        """The importable package whose it is: `trl`, of `trl sft` too."""
        return self.path.partition(".")[0].partition(" ")[0]

    @property
    def name(self) -> str:
        """The last part of its path: `SFTConfig`."""
        return self.path.rpartition(".")[2]
