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
from holdfast.core.job.calls import LibraryName, ParserOption, ParserOptions
from holdfast.core.job.document import Unknown
from holdfast.core.job.expressions import call_pure
from holdfast.core.text.places import Place

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
    """One option of a parser, and the attribute's value where it is not given."""

    default: Any
    convert: Callable[[str], Any] | None
    action: Any
    declared: ParserOption

    @property
    def takes_one(self) -> bool:
        """Whether it stores one value."""
        return self.action is None and self.declared.count is None

    def position(self, words: Argv) -> int:
        """Return the position of the last of some words that gives it; -1 if none does."""
        given = (at for at, word in enumerate(words) if isinstance(word, str) and _gives(word, self.declared.flags))
        return max(given, default=-1)


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
    name = arguments.argument(len(flags), "dest")
    attribute = name if isinstance(name, str) else _attribute_of(flags)
    option = _option(reading, site, arguments, flags)
    options.by_attribute[attribute] = option
    options.attributes.add(attribute)
    options.flags.update(flags, _negations(option))
    hidden = arguments.open or len(flags) < len(arguments.positional) or not isinstance(name, str | None)
    if hidden or _may_take_rest(arguments.argument(KEYWORD_ONLY, "nargs")):
        options.complete = False
    return None


def _attribute_of(flags: Sequence[str]) -> str:
    """Return the attribute that flags name: the first long one's, or without one the first's."""
    long = next((flag for flag in flags if flag.startswith("--")), next(iter(flags), ""))
    return long.lstrip("-").replace("-", "_")


def _option(reading: ReadingState, site: Site, arguments: CallArguments, flags: tuple[str, ...]) -> Option:
    """Return the option that a call of `add_argument` adds."""
    action, count = arguments.argument(KEYWORD_ONLY, "action"), arguments.argument(KEYWORD_ONLY, "nargs")
    default, switched = settled(reading, arguments.argument(KEYWORD_ONLY, "default")), _switched(action)
    if switched is not None and default is None:
        default = not switched
    kind, convert = _option_type(arguments.argument(KEYWORD_ONLY, "type"))
    declared = ParserOption(
        flags=flags,
        action=_action(action),
        count=count if isinstance(count, str | int) else None,
        kind=kind,
        choices=_choices(reading, arguments.argument(KEYWORD_ONLY, "choices")),
        required=arguments.argument(KEYWORD_ONLY, "required") is True and not reading.standing().because,
        place=reading.place(site.node),
    )
    return Option(default, convert, action, declared)


def _switched(action: Any) -> bool | None:
    """Return the value that a flag without a word gives; None if its action takes words."""
    return SWITCHES.get(action) if isinstance(action, str) else None


def _option_type(given: Any) -> OptionType:
    """Return the type of an option's values, `str` where none is given."""
    if given is None:
        return KINDS["builtins.str"]
    return KINDS.get(given.path, NO_KIND) if isinstance(given, LibraryName) else NO_KIND


def _negations(option: Option) -> Iterator[str]:
    """Yield the flags that turn an option off."""
    for flag in option.declared.flags if _is_negatable(option.action) else ():
        if flag.startswith("--"):
            yield f"--no-{flag[2:]}"


def _is_negatable(action: Any) -> bool:
    return isinstance(action, LibraryName) and action.path.endswith(NEGATABLE)


def _may_take_rest(count: Any) -> bool:
    """True if an option takes all words after it, or if it is not known how many it takes."""
    if isinstance(count, LibraryName):
        return count.path in REST_NAMES
    return count in REST if isinstance(count, str) else isinstance(count, Unknown)


def _action(given: Any) -> str:
    """Return the action that an option is given; a class of the program's own takes values as `store` does."""
    if _is_negatable(given):
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
    yield from filter(_may_change_options, paths)


def _may_change_options(path: str) -> bool:
    """True if a call is of a method that may bring options, or leaves words to others."""
    name = path.removeprefix(f"{PARSER}.")
    return path != PARSER and (path not in FUNCTIONS or name == "parse_known_args") and name not in HARMLESS


def _slot(reading: ReadingState, option: Option, words: Argv | None, places: Sequence[Place]) -> Slot:
    """Return the value of an option, with its place if the command line gives it."""
    declared = replace(option.declared, default=option.default)
    if words is None:
        return Slot(_assumed(reading, option), option=declared)
    value, at = option_value(option, words), option.position(words)
    if value is COMMAND_LINE or at < 0 or not places:
        return Slot(value, option=declared)
    follows = "=" not in str(words[at]) and option.action is None
    return Slot(value, places[at + follows], option=declared)


def _assumed(reading: ReadingState, option: Option) -> Any:
    """Return the value of an option that may be given: its default, where defaults are assumed."""
    if not _may_stay(option):
        return COMMAND_LINE
    reading.has_defaults = True
    value = default_of(option) if reading.by_default else COMMAND_LINE
    if not isinstance(value, Unknown):
        reading.assumed[option.declared.name] = None
    return value


def _may_stay(option: Option) -> bool:
    """True if a program may be started without an option: None, which stands for no value, tells nothing."""
    return not option.declared.required and not option.declared.is_positional and option.default is not None


def option_value(option: Option, words: Argv) -> Any:
    """Return the value of an option: its default only where the command line is known not to give another."""
    at = option.position(words)
    if option.declared.is_positional or at < last_hidden(words):
        return COMMAND_LINE
    if at >= 0:
        return _given_value(option, words[at:])
    return COMMAND_LINE if option.declared.required else default_of(option)


def default_of(option: Option) -> Any:
    """Return the value of an option that is not given: `argparse` converts a default that is text."""
    if not isinstance(option.default, str) or _switched(option.action) is not None:
        return option.default
    return call_pure(option.convert, [option.default]) if option.convert else COMMAND_LINE


def _gives(word: str, flags: Sequence[str]) -> bool:
    name = word.partition("=")[0]
    return name in flags or (name.startswith("--") and any(flag.startswith(name) for flag in flags))


def _given_value(option: Option, words: Argv) -> Any:
    """Return the value that words give to an option, whose flag is the first of them."""
    switched = _switched(option.action)
    if switched is not None:
        return switched
    _, inlined, inline = str(words[0]).partition("=")
    text = inline if inlined else next(iter(words[1:]), "")
    if option.convert is None or not option.takes_one or not isinstance(text, str) or not text:
        return COMMAND_LINE
    return call_pure(option.convert, [text])


FUNCTIONS: Final[Mapping[str, Known]] = {
    f"{PARSER}.add_argument": _add_argument,
    f"{PARSER}.add_argument_group": _add_group,
    f"{PARSER}.add_mutually_exclusive_group": _add_group,
    f"{PARSER}.set_defaults": _set_defaults,
    f"{PARSER}.parse_args": _parse_args,
    f"{PARSER}.parse_known_args": _parse_known_args,
}
