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
from holdfast.core.api import Parameter
from holdfast.core.calls import LibraryName, ParserOption
from holdfast.core.document import Unknown
from holdfast.core.text import Place


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
    given = arguments.argument(0, "args")
    argv, places = words_given(reading, given), reading.argv_places if given is None else ()
    known = argv is not None and arguments.argument(1, "args_filename") is None
    stated = _stated_values(reading, argv, places, config) if argv is not None and known else None
    remaining = arguments.argument(1, "return_remaining_strings") is not None
    strict = not remaining and arguments.argument(2, "fail_with_unknown_args") is None
    shares = share_flags(_paths(spec), stated, strict=strict)
    made = _parsed_classes(reading, site, spec, shares, are_words=not config)
    if given is None and site.library_call:
        site.library_call.fields = tuple(_own_parameters(spec))
    return (*made, COMMAND_LINE) if remaining else made


def _parse_with_config(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    return _parse_dataclasses(reading, site, arguments, config="config")


def _parse_file(reading: ReadingState, site: Site, arguments: CallArguments) -> Any:
    spec = _spec(reading, site.receiver)
    name = arguments.argument(0, "json_file") or arguments.argument(0, "yaml_file")
    stated = _file_slots(reading, name) if isinstance(name, str) else None
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


def _stated_values(reading: ReadingState, argv: Argv, places: Sequence[Place], flag: str) -> dict[str, Slot] | None:
    """Return the values that command-line words give by name, with those of the file that a flag names; None if that is unknown."""
    if len(argv) == 1 and isinstance(argv[0], str) and argv[0].endswith(ENDINGS):
        return _file_slots(reading, argv[0])
    if may_give_more(argv):
        return None
    flags = read_flags(argv)
    config = flags.pop(flag, None)
    at = flag_places(argv, places) if places else {}
    pairs = {name: at.get(name, (None, None)) for name in flags}
    slots = {name: Slot(value, pairs[name][0], pairs[name][1]) for name, value in flags.items()}
    if config is None:
        return slots
    settings = _file_slots(reading, config) if isinstance(config, str) else None
    return None if settings is None else {**settings, **slots}


def _file_slots(reading: ReadingState, name: str) -> dict[str, Slot] | None:
    document = reading.files(name) if reading.files else None
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

    Whose a flag is, the releases tell: the class that has it in any of them. What none ever had is asked of the one class
    that is not known, else of the one that has most: the config.

    Args:
        classes: The path of each, empty if it is not known, and the fields that the program adds.
        stated: What is given, by name; None if any may be.
        strict: Whether the program ends where a flag is nobody's.
    """
    if stated is None:
        return [KnownItems(open=True) for _ in classes]
    shares = [dict[str, Slot]() for _ in classes]
    unsure: set[int] = set()
    for name, slot in stated.items():
        owners = _owners(name, classes)
        if len(owners) == 1:
            shares[owners[0]][name] = slot
        elif not owners and strict and (rest := _rest(classes)) is not None:
            shares[rest][name] = slot
        unsure.update(owners if len(owners) > 1 else ())
    return [KnownItems(share, open=index in unsure) for index, share in enumerate(shares)]


def _owners(name: str, classes: Sequence[tuple[str, frozenset[str]]]) -> list[int]:
    """Return which classes a flag may belong to: those that had it in some release, else those it is short for."""
    own = [index for index, (_, fields) in enumerate(classes) if name in fields]
    if own:
        return own
    owners = [index for index, (path, _) in enumerate(classes) if ever_takes(path, name)]
    return owners or [index for index, (path, fields) in enumerate(classes) if _begins(name, path, fields)]


def _begins(name: str, path: str, fields: frozenset[str]) -> bool:
    names = (name, name.removeprefix("no_"))
    return any(each.startswith(names) for each in (*fields, *newest_names(path)))


def _rest(classes: Sequence[tuple[str, frozenset[str]]]) -> int | None:
    unknown = [index for index, (path, _) in enumerate(classes) if path != OWN and not newest_names(path)]
    if unknown:
        return unknown[0] if len(unknown) == 1 else None
    sizes = [(len(newest_names(path)), index) for index, (path, _) in enumerate(classes) if path != OWN]
    return max(sizes)[1] if sizes else None


def read_flags(argv: Argv) -> dict[str, Any]:
    """Return the values of `--name value` on a command line: texts, lists of them, True where nothing follows.

    >>> read_flags(["--lr", "-1", "--no-bf16", "--names", "a", "b"])
    {'lr': '-1', 'bf16': False, 'names': ['a', 'b']}
    """
    flags: dict[str, list[str | Unknown]] = {}
    words: list[str | Unknown] = []
    for word in argv:
        if isinstance(word, str) and word.startswith("--"):
            name, _, value = word[2:].partition("=")
            words = flags[name.replace("-", "_")] = [value] if "=" in word else []
        else:
            words.append(word)
    result: dict[str, Any] = {}
    for name, values in flags.items():
        negated = name.startswith("no_") and not values and name != "no_cuda"
        result[name.removeprefix("no_") if negated else name] = values[0] if len(values) == 1 else values or not negated
    return result


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
    path = cls.path if isinstance(cls, LibraryName) else library_base(cls) if isinstance(cls, ProgramClass) else ""
    own = own_fields(cls) if isinstance(cls, ProgramClass) else {}
    address = next(reading.numbers)
    if isinstance(cls, ProgramClass) and not path:
        fields = {name: _field(reading, cls, name, own[name], share) for name in own}
        if are_words:
            fields = {name: _with_option(reading, cls, name, slot) for name, slot in fields.items()}
        reading.store[address] = KnownItems(fields)
        return ObjectValue("", None, address, cls)
    if not path:
        return COMMAND_LINE
    label = cls.name if isinstance(cls, ProgramClass) else path.rpartition(".")[2]
    library_call = record(reading, site, path, CallArguments([], share), via="parser", label=label, own=frozenset(own))
    library_call.own_places = default_places(own)
    return ObjectValue(path, library_call, address, cls if isinstance(cls, ProgramClass) else None)


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
    begun = [
        flag
        for flag in share.slots
        if isinstance(flag, str) and flag != name and name.startswith(flag.removeprefix("no_"))
    ]
    if given is not None:
        return Slot(_converted(cls, name, given), given.place, given.key_place)
    if default is None or _has_other_names(cls, name):
        return Slot(COMMAND_LINE)
    if share.open or begun:
        return _assumed(reading, name, default)
    return default


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
