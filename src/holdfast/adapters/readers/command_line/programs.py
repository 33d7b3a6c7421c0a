"""The program at the end of a command line: a script with its arguments, a module, or a command of a library."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from typing import Any, Final, Literal

from holdfast.adapters.readers.command_line.launchers import AS_MODULE, NOT_SAID, PYTHON, PYTHON_FLAGS
from holdfast.adapters.readers.command_line.words import Word
from holdfast.core.text.addresses import WEB
from holdfast.core.text.places import Place

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
    rest = _after_python(words)
    if not rest:
        return None
    name, *arguments = rest
    if arguments and name.text in AS_MODULE:
        return StartedCommand("module", arguments[0], arguments[1:])
    return StartedCommand(_kind(name.text), name, arguments)


def _after_python(words: Sequence[Word]) -> list[Word]:
    """Return what stands after Python itself and its own options; all words, if another program starts."""
    if not words or not PYTHON.fullmatch(words[0].text):
        return list(words)
    return list(dropwhile(lambda word: word.text in PYTHON_FLAGS, words[1:]))


def _kind(name: str) -> Literal["script", "library", "other"]:
    if name.endswith(".py") or name.startswith(WEB) or name == "-":
        return "script"
    return "library" if name in LIBRARY_COMMANDS else "other"


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
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.text.startswith("--") and word.known:
            values = [] if "=" in word.text else list(takewhile(_is_value, rest))
            del rest[: len(values)]
            flags.append(_flag(word, values))
    return flags


def _flag(word: Word, values: Sequence[Word]) -> Flag:
    """Return the option that a word is, with the words that are its values."""
    name, equals, inline = word.text[2:].partition("=")
    key_place, place = _split(word, len("--") + len(name))
    if values:
        place = _spanned(values[0].place, values[-1].place)
    return Flag(name.replace("-", "_"), inline if equals else _value(values), key_place, place)


def _value(words: Sequence[Word]) -> Any:
    given = [word.text if word.known else NOT_SAID for word in words]
    if not given:
        return True
    return given[0] if len(given) == 1 else given


def _is_value(word: Word) -> bool:
    return word.quoted or OPTION.match(word.text) is None


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
