"""Parsers of a command line: transformers' and TRL's, which make dataclasses of it, and those of `argparse`."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from holdfast.adapters.readers.script.argparse_parsers import FUNCTIONS as ARGPARSE
from holdfast.adapters.readers.script.argparse_parsers import Argv, words_given
from holdfast.adapters.readers.script.known_calls import Known
from holdfast.adapters.readers.script.objects import default_places, library_base, lineage, own_fields
from holdfast.adapters.readers.script.reading import ReadingState
from holdfast.adapters.readers.script.reads import expose
from holdfast.adapters.readers.script.record import CallArguments, Site, record
from holdfast.adapters.readers.script.values import COMMAND_LINE, KnownItems, ObjectValue, ProgramClass, Ref, Slot
from holdfast.adapters.readers.settings import ENDINGS
from holdfast.catalog.api.annotations import plain_types
from holdfast.catalog.calls.flags import as_parsed, may_give_more
from holdfast.catalog.calls.parsed_fields import ever_takes, newest_names
from holdfast.core.job.api import Parameter
from holdfast.core.job.calls import LibraryName, ParserOption
from holdfast.core.job.document import Unknown
from holdfast.core.text.places import Place


@dataclass(slots=True, eq=False, repr=False)
class Spec:
    """The arguments of a parser.

    Attributes:
        classes: The dataclasses that it makes.
    """

    classes: tuple[Any, ...] = ()


def _spec(reading: ReadingState, thing: Any) -> Spec:
    address = thing.address if isinstance(thing, ObjectValue) else -1
    spec: Spec = reading.specs.setdefault(address, Spec())
    return spec


def _make_parser(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    thing = ObjectValue(site.library_call.path if site.library_call else "", site.library_call, next(reading.numbers))
    classes = arguments.argument(0, "dataclass_types")
    found = tuple(classes) if isinstance(classes, list | tuple) else (classes,)
    reading.specs[thing.address] = Spec(classes=found)
    return thing


def _parse_dataclasses(reading: ReadingState, site: Site, arguments: CallArguments, *, config: str = "") -> Any:
    """Return the dataclasses of a parser, of which TrlParser's other method takes the file that `--config` names."""
    spec = _spec(reading, site.receiver)
    remaining = arguments.argument(1, "return_remaining_strings") is not None
    strict = not remaining and arguments.argument(2, "fail_with_unknown_args") is None
    shares = share_flags(_paths(spec), _stated_in(reading, arguments, config), strict=strict)
    made = _parsed_classes(reading, site, spec, shares, are_words=not config)
    if arguments.argument(0, "args") is None and site.library_call:
        site.library_call.fields = tuple(_own_parameters(spec))
    return (*made, COMMAND_LINE) if remaining else made


def _parse_with_config(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    return _parse_dataclasses(reading, site, arguments, config="config")


def _parse_file(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    spec = _spec(reading, site.receiver)
    name = arguments.argument(0, "json_file") or arguments.argument(0, "yaml_file")
    stated = _file_slots(reading, name)
    loose = arguments.argument(1, "allow_extra_keys") is not None
    return _parsed_classes(reading, site, spec, share_flags(_paths(spec), stated, strict=not loose))


def _parse_dict(reading: ReadingState, site: Site, _: CallArguments) -> Any:
    spec = _spec(reading, site.receiver)
    return _parsed_classes(reading, site, spec, share_flags(_paths(spec), None))


def _parsed_classes(
    reading: ReadingState, site: Site, spec: Spec, shares: Sequence[KnownItems], *, are_words: bool = False
) -> tuple[Any, ...]:
    """Return what a parser makes of each dataclass.

    Args:
        reading: The state.
        site: The call.
        spec: The arguments of the parser.
        shares: What each dataclass is given.
        are_words: Whether all values are words, which are converted; what a file holds is taken as it is.
    """
    pairs = zip(spec.classes, shares, strict=True)
    made = tuple(_parsed(reading, site, each, share, are_words=are_words) for each, share in pairs)
    flags = frozenset(name for path, fields in _paths(spec) if path == OWN for name in fields)
    for each in made:
        if isinstance(each, ObjectValue) and each.library_call:
            each.library_call.flags = flags
    return made


def _own_parameters(spec: Spec) -> Iterator[Parameter]:
    """Yield the fields that the program's own dataclasses define, as far as their types can be read."""
    for cls in spec.classes:
        for name in own_fields(cls) if isinstance(cls, ProgramClass) else ():
            if parameter := _parameter(cls, name):
                yield parameter


def _parameter(cls: ProgramClass, name: str) -> Parameter | None:
    written = _written_field(cls, name)
    annotation = ast.unparse(written.annotation) if written else ""
    types = plain_types(annotation)
    return Parameter(name=name, types=types, annotation=annotation) if types else None


def _stated_in(reading: ReadingState, arguments: CallArguments, flag: str) -> dict[str, Slot] | None:
    """Return the values by name that a call hands its parser, or the command line; None if they are not known."""
    given = arguments.argument(0, "args")
    argv = words_given(reading, given)
    if argv is None or arguments.argument(1, "args_filename") is not None:
        return None
    return _stated_values(reading, argv, reading.argv_places if given is None else (), flag)


def _stated_values(reading: ReadingState, argv: Argv, places: Sequence[Place], flag: str) -> dict[str, Slot] | None:
    """Return the values that command-line words give by name, with those of the file that a flag names; None if that is unknown."""
    if len(argv) == 1 and isinstance(argv[0], str) and argv[0].endswith(ENDINGS):
        return _file_slots(reading, argv[0])
    if may_give_more(argv):
        return None
    slots = _flag_slots(argv, places)
    config = slots.pop(flag, None)
    settings = _file_slots(reading, config.value) if config else {}
    return None if settings is None else {**settings, **slots}


def _flag_slots(argv: Argv, places: Sequence[Place]) -> dict[str, Slot]:
    """Return the values of the flags on a command line, with the places of its words, if a file holds them."""
    at = flag_places(argv, places) if places else {}
    return {name: Slot(value, *at.get(name, ())) for name, value in read_flags(argv).items()}


def _file_slots(reading: ReadingState, name: Any) -> dict[str, Slot] | None:
    """Return the settings in a file; None if its name is not known, or what stands in it."""
    document = reading.files(name) if reading.files and isinstance(name, str) else None
    if document is None:
        return None
    return {
        key: Slot(value, document.places.get((key,)), document.key_places.get((key,)))
        for key, value in document.values.items()
        if key not in ("env", "config")
    }


def _paths(spec: Spec) -> list[tuple[str, frozenset[str]]]:
    """Return the path of each dataclass, or of the library's that it extends, and the fields that it adds."""
    return [
        (cls.path, frozenset())
        if isinstance(cls, LibraryName)
        else (library_base(cls) or OWN, frozenset(own_fields(cls)))
        if isinstance(cls, ProgramClass)
        else ("", frozenset())
        for cls in spec.classes
    ]


def share_flags(
    classes: Sequence[tuple[str, frozenset[str]]], stated: Mapping[str, Slot] | None, *, strict: bool = True
) -> list[KnownItems]:
    """Return the arguments that each dataclass gets; all may get more where it is not known what is given.

    A flag belongs to the class that has it in any release. One that no class ever had goes to the one class that is not
    known, else to the one with most parameters: the config.

    Args:
        classes: The path of each, empty if it is not known, and the fields that the program adds.
        stated: What is given, by name; None if any may be.
        strict: Whether the program ends at a flag that belongs to no class.
    """
    if stated is None:
        return [KnownItems(open=True) for _ in classes]
    owners = {name: _owners(name, classes, strict=strict) for name in stated}
    return [_share(index, stated, owners) for index in range(len(classes))]


def _share(index: int, stated: Mapping[str, Slot], owners: Mapping[str, Sequence[int]]) -> KnownItems:
    """Return the arguments that are one dataclass's alone; it may get more where it shares a flag with others."""
    own = {name: slot for name, slot in stated.items() if owners[name] == [index]}
    return KnownItems(own, open=any(index in each for each in owners.values() if len(each) > 1))


def _owners(name: str, classes: Sequence[tuple[str, frozenset[str]]], *, strict: bool) -> list[int]:
    """Return which classes a flag may belong to: those that had it in some release, else those it is short for."""
    return (
        [index for index, (_, fields) in enumerate(classes) if name in fields]
        or [index for index, (path, _) in enumerate(classes) if ever_takes(path, name)]
        or [index for index, (path, fields) in enumerate(classes) if _begins(name, path, fields)]
        or (_rest(classes) if strict else [])
    )


def _begins(name: str, path: str, fields: frozenset[str]) -> bool:
    names = (name, name.removeprefix("no_"))
    return any(each.startswith(names) for each in (*fields, *newest_names(path)))


def _rest(classes: Sequence[tuple[str, frozenset[str]]]) -> list[int]:
    """Return the class that gets what no class is known to take; none if several may."""
    unknown = [index for index, (path, _) in enumerate(classes) if path != OWN and not newest_names(path)]
    if unknown:
        return unknown if len(unknown) == 1 else []
    sizes = [(len(newest_names(path)), index) for index, (path, _) in enumerate(classes) if path != OWN]
    return [max(sizes)[1]] if sizes else []


def read_flags(argv: Argv) -> dict[str, Any]:
    """Return the values of `--name value` on a command line: texts, lists of them, True where nothing follows.

    >>> read_flags(["--lr", "-1", "--no-bf16", "--names", "a", "b"])
    {'lr': '-1', 'bf16': False, 'names': ['a', 'b']}
    """
    return dict(_flag_value(name, words) for name, words in _words_by_flag(argv).items())


def _words_by_flag(argv: Argv) -> dict[str, list[str | Unknown]]:
    flags: dict[str, list[str | Unknown]] = {}
    words: list[str | Unknown] = []
    for word in argv:
        if isinstance(word, str) and word.startswith("--"):
            name, _, value = word[2:].partition("=")
            words = flags[name.replace("-", "_")] = [value] if "=" in word else []
        else:
            words.append(word)
    return flags


def _flag_value(name: str, words: list[str | Unknown]) -> tuple[str, Any]:
    """Return a flag's name and its value; `--no_x` turns `x` off."""
    if words:
        return name, words[0] if len(words) == 1 else words
    if name.startswith("no_") and name != "no_cuda":
        return name.removeprefix("no_"), False
    return name, True


def flag_places(argv: Argv, places: Sequence[Place]) -> dict[str, tuple[Place, Place]]:
    """Return where the value of each flag is written, and where the flag is; a flag without a word after it is its own value."""
    found: dict[str, tuple[Place, Place]] = {}
    for index, word in enumerate(argv):
        if isinstance(word, str) and word.startswith("--"):
            name = word[2:].partition("=")[0].replace("-", "_")
            follows = "=" not in word and index + 1 < len(argv) and not str(argv[index + 1]).startswith("--")
            found[name] = (places[index + follows], places[index])
    return {key: each for name, each in found.items() for key in (name, name.removeprefix("no_"))} | found


def _parsed(reading: ReadingState, site: Site, cls: Any, share: KnownItems, *, are_words: bool) -> Any:
    """Return the instance that a parser makes of one dataclass, with its share of the command line."""
    match cls:
        case LibraryName():
            return _parsed_config(reading, site, cls.path, share)
        case ProgramClass() if path := library_base(cls):
            return _parsed_config(reading, site, path, share, cls)
        case ProgramClass():
            return _parsed_fields(reading, cls, share, are_words=are_words)
        case _:
            return COMMAND_LINE


def _parsed_config(
    reading: ReadingState, site: Site, path: str, share: KnownItems, cls: ProgramClass | None = None
) -> ObjectValue:
    """Return an instance of a library's class, or of one of the program's that extends it."""
    own = own_fields(cls) if cls else {}
    label = cls.name if cls else path.rpartition(".")[2]
    library_call = record(reading, site, path, CallArguments([], share), via="parser", label=label, own=frozenset(own))
    library_call.own_places = default_places(own)
    return ObjectValue(path, library_call, next(reading.numbers), cls)


def _parsed_fields(reading: ReadingState, cls: ProgramClass, share: KnownItems, *, are_words: bool) -> ObjectValue:
    """Return an instance of a dataclass that is all the program's own."""
    slots = {name: _field(reading, cls, name, default, share) for name, default in own_fields(cls).items()}
    if are_words:
        slots = {name: _with_option(reading, cls, name, slot) for name, slot in slots.items()}
    thing = ObjectValue("", None, next(reading.numbers), cls)
    reading.store[thing.address] = KnownItems(slots)
    return thing


def _with_option(reading: ReadingState, cls: ProgramClass, name: str, slot: Slot) -> Slot:
    return Slot(slot.value, slot.place, slot.key_place, _option(reading, cls, name))


def _option(reading: ReadingState, cls: ProgramClass, name: str) -> ParserOption | None:
    """Return a field as the option that a parser makes of it; None if its words are not converted to one plain type."""
    written, parameter = _written_field(cls, name), _parameter(cls, name)
    kinds = parameter.types - {"null"} if parameter else frozenset()
    kind = PLAIN.get(next(iter(kinds))) if len(kinds) == 1 else None
    if written is None or kind is None or written not in cls.node.body:
        return None
    default = written.value.value if isinstance(written.value, ast.Constant) else None
    place = reading.place(written)
    return ParserOption(flags=(f"--{name}",), action="field", kind=kind, default=default, place=place)


def _field(reading: ReadingState, cls: ProgramClass, name: str, default: Slot | None, share: KnownItems) -> Slot:
    """Return the value of a field of the program's own: what the command line gives, else its default."""
    given = share.slots.get(name)
    if given is not None:
        return Slot(_converted(cls, name, given), given.place, given.key_place)
    if default is None or _has_other_names(cls, name):
        return Slot(COMMAND_LINE)
    is_begun = any(name.startswith(str(flag).removeprefix("no_")) for flag in share.slots)
    return _assumed(reading, name, default) if share.open or is_begun else default


def _assumed(reading: ReadingState, name: str, default: Slot) -> Slot:
    """Return a field that may be given: its default, where those are taken for granted."""
    if reading.argv is not None or default.value is None or isinstance(default.value, Unknown):
        return Slot(COMMAND_LINE)
    reading.has_defaults = True
    if not reading.by_default:
        return Slot(COMMAND_LINE)
    reading.assumed[f"--{name}"] = None
    return default


def _converted(cls: ProgramClass, name: str, given: Slot) -> Any:
    """Return what a parser makes of the words for a field, by its annotation."""
    if isinstance(given.value, Unknown):
        return COMMAND_LINE
    parameter = _parameter(cls, name)
    if parameter is None or ("str" in parameter.types and len(parameter.types - {"null"}) > 1):
        return COMMAND_LINE
    value = as_parsed(parameter, given.value)
    return COMMAND_LINE if isinstance(value, Unknown) else value


def _has_other_names(cls: ProgramClass, name: str) -> bool:
    """True if a field may be given under another name: `field(metadata={"aliases": ["-d"]})`."""
    written = _written_field(cls, name)
    return written is None or (isinstance(written.value, ast.Call) and "aliases" in ast.dump(written.value))


def _written_field(cls: ProgramClass, name: str) -> ast.AnnAssign | None:
    fields = (each for owner in lineage(cls) for each in owner.node.body if isinstance(each, ast.AnnAssign))
    return next((each for each in fields if isinstance(each.target, ast.Name) and each.target.id == name), None)


def _vars(reading: ReadingState, _: Site, arguments: CallArguments) -> Any:
    value = arguments.argument(0, "")
    hidden = value if isinstance(value, Unknown) else COMMAND_LINE
    held = reading.fresh(KnownItems(open=True))
    if isinstance(value, ObjectValue) and not value.path:
        reading.views[held.address] = value.address
    else:
        expose(reading, [value])
    return held if isinstance(value, ObjectValue | Ref) else hidden


PLAIN: Final[Mapping[str, Literal["str", "int", "float", "bool"]]] = {
    "str": "str",
    "int": "int",
    "float": "float",
    "bool": "bool",
}
"""Types to which a parser converts one word."""
OWN: Final = "."
"""In place of a path: a class of the program that extends none of a library's."""

PARSER_CLASSES: Final = (
    "transformers.HfArgumentParser",
    "transformers.hf_argparser.HfArgumentParser",
    "trl.TrlParser",
    "trl.scripts.utils.TrlParser",
    "trl.commands.cli_utils.TrlParser",
)
FUNCTIONS: Final[Mapping[str, Known]] = {
    **ARGPARSE,
    "builtins.vars": _vars,
    **dict.fromkeys(PARSER_CLASSES, _make_parser),
    **{f"{path}.parse_args_into_dataclasses": _parse_dataclasses for path in PARSER_CLASSES},
    **{f"{path}.parse_args_and_config": _parse_with_config for path in PARSER_CLASSES},
    **{f"{path}.{method}": _parse_file for path in PARSER_CLASSES for method in ("parse_json_file", "parse_yaml_file")},
    **{f"{path}.parse_dict": _parse_dict for path in PARSER_CLASSES},
}
