"""The program at the end of a command line: a script with its arguments, a module, or a command of a library."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from holdfast.adapters.readers.command_line.launchers import AS_MODULE, NOT_SAID, PYTHON, PYTHON_FLAGS
from holdfast.adapters.readers.command_line.words import Word
from holdfast.core.addresses import WEB
from holdfast.core.text import Place

LIBRARY_COMMANDS: Final = frozenset({"trl", "axolotl", "llamafactory-cli", "lmf", "trl-jobs"})

OPTION: Final = re.compile(r"-(?![\d.]|$)")


@dataclass(frozen=True, slots=True)
class StartedCommand:
    """What is run.

    Attributes:
        kind: A Python file, a module, a command of a library, or something else.
        name: The first word of it.
        arguments: The words after it.
    """

    kind: Literal["script", "module", "library", "other"]
    name: Word
    arguments: Sequence[Word]


def read_program(words: Sequence[Word]) -> StartedCommand | None:
    """Return the program that the words start; None if there is none."""
    rest = list(words)
    if rest and PYTHON.fullmatch(rest[0].text):
        rest = rest[1:]
        while rest and rest[0].text in PYTHON_FLAGS:
            rest = rest[1:]
    if len(rest) > 1 and rest[0].text in AS_MODULE:
        return StartedCommand("module", rest[1], rest[2:])
    if not rest:
        return None
    name, arguments = rest[0], rest[1:]
    if name.text.endswith(".py") or name.text.startswith(WEB) or name.text == "-":
        return StartedCommand("script", name, arguments)
    return StartedCommand("library" if name.text in LIBRARY_COMMANDS else "other", name, arguments)


@dataclass(frozen=True, slots=True)
class Flag:
    """One option of a command line that is parsed into a dataclass.

    Attributes:
        name: Its field, as far as the spelling tells.
        value: Text, a list of texts, or True where it has none.
        key_place: Where the option stands.
        place: Where its value stands.
    """

    name: str
    value: Any
    key_place: Place
    place: Place


def read_flags(words: Sequence[Word]) -> list[Flag]:
    """Return the options that words spell, and leave out those that belong to none.

    A word that begins with a hyphen and is no number begins an option, as argparse has it.
    """
    flags: list[Flag] = []
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not word.text.startswith("--") or not word.known:
            continue
        name, equals, inline = word.text[2:].partition("=")
        values: list[Word] = []
        while not equals and index < len(words) and not _is_option(words[index]):
            values.append(words[index])
            index += 1
        given = [each.text if each.known else NOT_SAID for each in values]
        value = inline if equals else True if not given else given[0] if len(given) == 1 else given
        key_place, place = _split(word, len("--") + len(name))
        place = _spanned(values[0].place, values[-1].place) if values else place
        flags.append(Flag(name.replace("-", "_"), value, key_place, place))
    return flags


def _is_option(word: Word) -> bool:
    return OPTION.match(word.text) is not None and not word.quoted


def _split(word: Word, length: int) -> tuple[Place, Place]:
    """Return where an option's name stands, and where the value that is glued to it does; both, where that is unclear."""
    whole = word.place
    if whole.column is None or whole.line != whole.end_line or (whole.end_column or 0) - whole.column != len(word.text):
        return whole, whole
    end = whole.column + length
    name = Place(whole.path, whole.line, whole.column, whole.line, end)
    return name, Place(whole.path, whole.line, end + 1, whole.line, whole.end_column) if length < len(
        word.text
    ) else whole


def _spanned(first: Place, last: Place) -> Place:
    return Place(first.path, first.line, first.column, last.end_line, last.end_column)
