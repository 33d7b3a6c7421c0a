"""What `argparse` says of the words of a command line, given the options of a parser.

`argparse` is asked itself: a parser is made of what is known of the options, and reads the words.
"""

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from holdfast.catalog.calls.flags import last_hidden
from holdfast.core.job.calls import ParserOption
from holdfast.core.job.document import Unknown

HIDDEN: Final = "\0"
"""In place of a word that is not known."""
NEGATIVE: Final = re.compile(r"-[\d.]+[eE][-+]?\d+")
"""A number that newer releases of Python take for a value, and older ones for an option."""
ARGUMENT: Final = "argument "
"""How `argparse` begins what it writes about one option."""
LACKING: Final = "the following arguments are required"
"""What `argparse` writes; for options, messages leave it out."""
READ: Final[dict[str, Callable[[str], Any]]] = {"int": int, "float": float}
VALUELESS: Final = frozenset({"store_true", "store_false", "store_const", "append_const", "count", "help", "version"})


@dataclass(frozen=True, slots=True)
class RefusedWord:
    """Why a parser ends the program.

    Attributes:
        index: Which word it refuses; None if one is missing.
        because: What `argparse` writes.
    """

    index: int | None
    because: str


class _RefusalError(Exception):
    def __init__(self, flags: str | None, message: str) -> None:
        super().__init__(message)
        self.flags = flags


class _Parser(argparse.ArgumentParser):
    """A parser that ends nothing."""

    def error(self, message: str) -> NoReturn:
        if not message.startswith(ARGUMENT):
            raise _RefusalError(None, message)
        flags, _, because = message.removeprefix(ARGUMENT).partition(": ")
        raise _RefusalError(flags, because)


def refused_words(options: Sequence[ParserOption], words: Sequence[str | Unknown]) -> RefusedWord | None:
    """Return the word that a parser refuses; None if it takes them all, or where another message tells of the word.

    >>> steps = ParserOption(flags=("--steps",), kind="int")
    >>> refused_words([steps], ["--steps", "ten"])
    RefusedWord(index=1, because="argument --steps: invalid int value: 'ten'")
    """
    begin = last_hidden(words) + 1
    known = list(map(_text_of, words[begin:]))
    if any(map(NEGATIVE.fullmatch, known)):
        return None
    try:
        _, rest = _parser(options).parse_known_args(known)
    except _RefusalError as refusal:
        return _placed(refusal, options, known, begin)
    if begin or not rest or any(map(_is_open, rest)):
        return None
    return _unrecognized(rest, known, options)


def _text_of(word: str | Unknown) -> str:
    return word if isinstance(word, str) else HIDDEN


def _is_open(word: str) -> bool:
    """True of a word that may be, or may hold, anything."""
    return word.startswith("-") or HIDDEN in word


def _unrecognized(rest: Sequence[str], words: Sequence[str], options: Sequence[ParserOption]) -> RefusedWord:
    """Return the last of the words that no option takes."""
    index = len(words) - 1 - words[::-1].index(rest[-1])
    before = words[index - 1] if index else ""
    takes_none = any(before in each.flags and each.action in VALUELESS for each in options)
    why = f"`{before}` takes no value" if takes_none else "no option takes it"
    return RefusedWord(index, f"{why}: unrecognized arguments: {' '.join(rest)}")


def _parser(options: Sequence[ParserOption]) -> _Parser:
    parser = _Parser(prog="", add_help=False)
    for option in options:
        kwargs: dict[str, Any] = {}
        if option.action == "negatable":
            kwargs["action"] = argparse.BooleanOptionalAction
        elif option.action in VALUELESS:
            kwargs["action"] = "store_true"
        else:
            kwargs |= {"nargs": option.count, "type": _reader(option)}
            if option.choices is not None and option.kind:
                kwargs["choices"] = _Choices(option.choices)
        parser.add_argument(*option.flags, **kwargs)
    return parser


class _Choices(tuple[Any, ...]):
    """Choices among which a word that is not known may be."""

    __slots__ = ()

    def __contains__(self, value: object) -> bool:
        return value == HIDDEN or tuple.__contains__(self, value)


def _reader(option: ParserOption) -> Callable[[str], Any]:
    read = READ.get(option.kind, str)

    def convert(text: str) -> Any:
        return HIDDEN if HIDDEN in text else read(text)

    convert.__name__ = option.kind or "str"
    return convert


def _placed(
    refusal: _RefusalError, options: Sequence[ParserOption], words: Sequence[str], begin: int
) -> RefusedWord | None:
    """Return what is refused with its word; None for what is missing or ambiguous, where the first words are not known."""
    if str(refusal).startswith(LACKING) and not begin:
        return RefusedWord(None, str(refusal))
    option = _named_option(options, refusal.flags)
    if option is None:
        return None
    because = f"argument {refusal.flags}: {refusal}"
    if option.is_positional:
        return RefusedWord(None, because)
    at = _place_of(refusal, option, words)
    return None if at is None else RefusedWord(begin + at, because)


def _named_option(options: Iterable[ParserOption], flags: str | None) -> ParserOption | None:
    """Return the option whose flags `argparse` names."""
    return next((each for each in options if "/".join(each.flags) == flags), None)


def _place_of(refusal: _RefusalError, option: ParserOption, words: Sequence[str]) -> int | None:
    """Return which word is refused: the value that the message quotes, or the flag; None if no word gives the option."""
    flag = next((n for n in reversed(range(len(words))) if _gives(words[n], option)), None)
    if flag is None or "=" in words[flag] or words[flag] == HIDDEN:
        return flag
    values = (
        n for n in range(flag + 1, len(words)) if re.search(rf": '?{re.escape(words[n])}'?(?: \(|$)", str(refusal))
    )
    return next(values, flag)


def _gives(word: str, option: ParserOption) -> bool:
    name = word.partition("=")[0]
    return name in option.flags or (name.startswith("--") and any(flag.startswith(name) for flag in option.flags))
