"""Parsers of a command line that a program puts together by `argparse`: their options, and what these are set to.

Source: `argparse` of Python 3.11, tried.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from holdfast.adapters.readers.script.known_calls import Known
from holdfast.adapters.readers.script.objects import settled
from holdfast.adapters.readers.script.reading import ReadingState
from holdfast.adapters.readers.script.record import CallArguments, Site
from holdfast.adapters.readers.script.values import COMMAND_LINE, KnownItems, ObjectValue, Slot
from holdfast.catalog.calls.flags import last_hidden
from holdfast.core.calls import LibraryName, ParserOption, ParserOptions
from holdfast.core.document import Unknown
from holdfast.core.expressions import call_pure
from holdfast.core.text import Place

Argv = Sequence[str | Unknown]
"""The arguments of a command line; those that a shell computes are not known."""
PARSER: Final = "argparse.ArgumentParser"
OptionType = tuple[Literal["", "str", "int", "float", "bool"], Callable[[str], Any] | None]
KINDS: Final[Mapping[str, OptionType]] = {
    "builtins.str": ("str", str),
    "builtins.int": ("int", int),
    "builtins.float": ("float", float),
    "builtins.bool": ("bool", bool),
}
"""The types of values that are read as `argparse` reads them, by path."""
NO_KIND: Final[OptionType] = ("", None)
KEYWORD_ONLY: Final = 99
"""In place of a position: an argument that is given by keyword alone."""
SWITCHES: Final[Mapping[str, bool]] = {"store_true": True, "store_false": False}
NEGATABLE: Final = "BooleanOptionalAction"
REST: Final = frozenset({"...", "A..."})
"""`argparse.REMAINDER` and `argparse.PARSER`: all words from here on, whatever they look like."""
REST_NAMES: Final = ("argparse.REMAINDER", "argparse.PARSER")
CHANGES_READING: Final = frozenset({"parents", "prefix_chars", "fromfile_prefix_chars", "allow_abbrev"})
"""Arguments of a parser that bring other options, or other ways to write them."""
HARMLESS: Final = frozenset({"print_help", "print_usage", "format_help", "format_usage", "error", "exit"})
"""Methods of a parser that change nothing of its options."""
NO_PARSER: Final = -2
"""In place of the address of what may be a parser."""
HELP: Final = frozenset({"-h", "--help"})


@dataclass(slots=True, eq=False, repr=False)
class Option:
    """One option of a parser: what it is called, and what the attribute is where it is not given."""

    flags: tuple[str, ...]
    default: Any
    convert: Callable[[str], Any] | None
    action: Any
    declared: ParserOption

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.declared.required

    @property
    def single(self) -> bool:
        """Whether it takes one value."""
        return self.declared.count is None


@dataclass(slots=True, eq=False, repr=False)
class ArgparseOptions:
    """The options of a parser.

    Attributes:
        by_attribute: Its options.
        flags: All their spellings.
        addresses: Of the parser and of its groups.
        complete: Whether all its options can be seen.
        attributes: What its namespace has: one for each option and each default.
    """

    by_attribute: dict[str, Option] = field(default_factory=dict[str, Option])
    flags: set[str] = field(default_factory=lambda: set(HELP))
    addresses: set[int] = field(default_factory=set[int])
    complete: bool = True
    attributes: set[str] = field(default_factory=set[str])


def is_parser(value: object) -> bool:
    """True of a parser, and of a group of its options: whoever is handed one may add others."""
    return isinstance(value, ObjectValue) and value.path == PARSER


def _options(reading: ReadingState, thing: Any) -> ArgparseOptions:
    address = thing.address if isinstance(thing, ObjectValue) else NO_PARSER
    found: ArgparseOptions = reading.specs.setdefault(address, ArgparseOptions())
    found.addresses.add(address)
    return found


def _add_argument(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    options = _options(reading, site.receiver)
    flags = tuple(slot.value for slot in arguments.positional if isinstance(slot.value, str))
    long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
    name, count = arguments.argument(len(flags), "dest"), arguments.argument(KEYWORD_ONLY, "nargs")
    attribute = name if isinstance(name, str) else long.lstrip("-").replace("-", "_")
    kind, action = arguments.argument(KEYWORD_ONLY, "type"), arguments.argument(KEYWORD_ONLY, "action")
    default = settled(reading, arguments.argument(KEYWORD_ONLY, "default"))
    if isinstance(action, str) and action in SWITCHES and default is None:
        default = not SWITCHES[action]
    path = "builtins.str" if kind is None else kind.path if isinstance(kind, LibraryName) else ""
    named, convert = KINDS.get(path, NO_KIND)
    required = arguments.argument(KEYWORD_ONLY, "required") is True and not reading.standing().because
    declared = ParserOption(
        flags=flags,
        action=_action(action),
        count=count if isinstance(count, str | int) else None,
        kind=named,
        choices=_choices(reading, arguments.argument(KEYWORD_ONLY, "choices")),
        required=required,
        place=reading.place(site.node),
    )
    options.by_attribute[attribute] = Option(flags, default, convert, action, declared)
    options.attributes.add(attribute)
    options.flags.update(flags)
    if isinstance(action, LibraryName) and action.path.endswith(NEGATABLE):
        options.flags.update(f"--no-{flag[2:]}" for flag in flags if flag.startswith("--"))
    rest = count in REST if isinstance(count, str) else isinstance(count, LibraryName) and count.path in REST_NAMES
    hidden = rest or isinstance(count, Unknown) or (name is not None and not isinstance(name, str))
    if arguments.open or len(flags) < len(arguments.positional) or hidden:
        options.complete = False
    return None


def _action(given: Any) -> str:
    """Return the action that an option is given; a class of the program's own takes values as `store` does."""
    if isinstance(given, LibraryName) and given.path.endswith(NEGATABLE):
        return "negatable"
    return given if isinstance(given, str) else "store"


def _choices(reading: ReadingState, given: Any) -> tuple[str | int | float, ...] | None:
    listed = settled(reading, given)
    known = isinstance(listed, list | tuple) and all(isinstance(each, str | int | float) for each in listed)
    return tuple(listed) if known and listed else None


def _add_group(reading: ReadingState, site: Site, _: CallArguments) -> Any:
    """Return a group, whose options are the parser's."""
    options = _options(reading, site.receiver)
    group = ObjectValue(PARSER, site.library_call, next(reading.numbers))
    reading.specs[group.address] = options
    options.addresses.add(group.address)
    return group


def _set_defaults(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    options = _options(reading, site.receiver)
    options.attributes.update(arguments.named.slots)
    options.complete = options.complete and not arguments.open
    for name, option in options.by_attribute.items():
        if slot := arguments.named.slots.get(name):
            option.default = settled(reading, slot.value)
        elif arguments.open:
            option.default = COMMAND_LINE
    return None


def words_given(reading: ReadingState, args: Any) -> Argv | None:
    """Return the words that a parser is given: a list in the program, or without one the command line's."""
    if args is None:
        return reading.argv
    words = settled(reading, args)
    return [word if isinstance(word, str) else Unknown() for word in words] if isinstance(words, list | tuple) else None


def _parse_args(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    argv = words_given(reading, arguments.argument(0, "args"))
    options = _options(reading, site.receiver)
    own = arguments.argument(0, "args") is None and arguments.argument(1, "namespace") is None
    if own and site.library_call and _is_complete(reading, site.receiver, options):
        every = tuple(option.declared for option in options.by_attribute.values())
        site.library_call.parser = ParserOptions(frozenset(options.flags), every)
    return _parsed(reading, site, arguments, options, argv)


def _parse_known_args(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    argv = words_given(reading, arguments.argument(0, "args"))
    return (_parsed(reading, site, arguments, _options(reading, site.receiver), argv), COMMAND_LINE)


def _parsed(
    reading: ReadingState, site: Site, arguments: CallArguments, options: ArgparseOptions, argv: Argv | None
) -> ObjectValue:
    thing = ObjectValue("", None, next(reading.numbers))
    places = reading.argv_places if argv is reading.argv else ()
    slots = {name: _slot(reading, option, argv, places) for name, option in options.by_attribute.items()}
    reading.store[thing.address] = KnownItems(slots)
    if arguments.argument(1, "namespace") is None and _is_complete(reading, site.receiver, options, more_words=True):
        reading.namespaces[thing.address] = frozenset(options.attributes)
    return thing


def _is_complete(reading: ReadingState, parser: Any, options: ArgparseOptions, *, more_words: bool = False) -> bool:
    """True if all options of a parser can be seen: no code that is not seen was handed it, and no other parser is about.

    Args:
        reading: The state.
        parser: The parser.
        options: Its options.
        more_words: Whether it may leave words for another.
    """
    if not isinstance(parser, ObjectValue) or parser.cls is not None or not options.complete:
        return False
    made = parser.library_call
    is_known = made is not None and not made.open and not CHANGES_READING & made.arguments.keys()
    others = set(_others(reading)) - ({f"{PARSER}.parse_known_args"} if more_words else set())
    return is_known and not options.addresses & reading.exposed and not others


def _others(reading: ReadingState) -> Iterator[str]:
    """Yield the calls that may bring more options, or take words away: of a second parser, of a method that is not known."""
    paths = [call.path for call in reading.library_calls.values() if call.path.startswith(PARSER)]
    yield from (path for path in paths if path == PARSER and paths.count(PARSER) > 1)
    for path in paths:
        name = path.removeprefix(f"{PARSER}.")
        if path != PARSER and (path not in FUNCTIONS or name == "parse_known_args") and name not in HARMLESS:
            yield path


def _slot(reading: ReadingState, option: Option, words: Argv | None, places: Sequence[Place]) -> Slot:
    """Return the value of an option, with its place if the command line gives it."""
    declared = replace(option.declared, default=option.default)
    value = option_value(option, words)
    if words is None and _may_stay(option):
        reading.has_defaults = True
        value = default_of(option) if reading.by_default else value
        if reading.by_default and not isinstance(value, Unknown):
            reading.assumed[declared.name] = None
    positions = [
        index for index, word in enumerate(words or ()) if isinstance(word, str) and _gives(word, option.flags)
    ]
    if value is COMMAND_LINE or not positions or not places:
        return Slot(value, option=declared)
    follows = "=" not in str((words or ())[positions[-1]]) and option.action is None
    return Slot(value, places[positions[-1] + follows], option=declared)


def _may_stay(option: Option) -> bool:
    """True if a program may be started without an option: None, which stands for no value, tells nothing."""
    return not option.required and not option.declared.is_positional and option.default is not None


def option_value(option: Option, words: Argv | None) -> Any:
    """Return the value of an option: its default only where the command line is known not to give another."""
    if words is None or not option.flags or not option.flags[0].startswith("-"):
        return COMMAND_LINE
    hidden = last_hidden(words)
    positions = [index for index, word in enumerate(words) if isinstance(word, str) and _gives(word, option.flags)]
    if not positions:
        return COMMAND_LINE if hidden >= 0 or option.required else default_of(option)
    if positions[-1] < hidden:
        return COMMAND_LINE
    return _given_value(option, words[positions[-1] :])


def default_of(option: Option) -> Any:
    """Return the value of an option that is not given: `argparse` converts a default that is text."""
    if not isinstance(option.default, str) or option.action in SWITCHES:
        return option.default
    return call_pure(option.convert, [option.default]) if option.convert else COMMAND_LINE


def _gives(word: str, flags: Sequence[str]) -> bool:
    name = word.partition("=")[0]
    return name in flags or (name.startswith("--") and any(flag.startswith(name) for flag in flags))


def _given_value(option: Option, words: Argv) -> Any:
    """Return the value that words give to an option, whose flag is the first of them."""
    if isinstance(option.action, str) and option.action in SWITCHES:
        return SWITCHES[option.action]
    flag = words[0]
    inline = flag.partition("=")[2] if isinstance(flag, str) and "=" in flag else None
    text = inline if inline is not None else words[1] if len(words) > 1 else ""
    single = option.action is None and option.single
    usable = single and option.convert is not None and isinstance(text, str) and text
    return call_pure(option.convert, [text]) if usable and option.convert else COMMAND_LINE


FUNCTIONS: Final[Mapping[str, Known]] = {
    f"{PARSER}.add_argument": _add_argument,
    f"{PARSER}.add_argument_group": _add_group,
    f"{PARSER}.add_mutually_exclusive_group": _add_group,
    f"{PARSER}.set_defaults": _set_defaults,
    f"{PARSER}.parse_args": _parse_args,
    f"{PARSER}.parse_known_args": _parse_known_args,
}
