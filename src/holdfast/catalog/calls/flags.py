"""What a parser of dataclasses, HfArgumentParser or TrlParser, makes of the words of a command line.

Source: `HfArgumentParser` of transformers 5.23 and `argparse`, tried.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from holdfast.core.job.api import CallSignature, Parameter
from holdfast.core.job.document import Unknown

SWITCHES: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("yes", "true", "t", "y", "1"), True),
    **dict.fromkeys(("no", "false", "f", "n", "0"), False),
}
NUMBERS: Final[Mapping[str, Callable[[str], int | float]]] = {"int": int, "float": float}
LIST: Final = re.compile(r"(?:list|List)\[(\w+)\]")


def may_give_more(argv: Sequence[str | Unknown]) -> bool:
    """True if a word that is not known may be options: one that does not follow an option, as its value.

    >>> may_give_more(["--lr", Unknown()]), may_give_more(["--lr", "1", Unknown()])
    (False, True)
    """
    return last_hidden(argv) >= 0


def last_hidden(argv: Sequence[str | Unknown]) -> int:
    """Return the position of the last word that is not known and may be options; -1 where there is none."""
    pairs = enumerate(pairwise(("", *argv)))
    hidden = (index for index, (before, word) in pairs if isinstance(word, Unknown) and not _wants_value(before))
    return max(hidden, default=-1)


def _wants_value(word: str | Unknown) -> bool:
    return isinstance(word, str) and word.startswith("--") and "=" not in word


def flag_meant(signature: CallSignature, name: str, value: Any) -> tuple[str, Any]:
    """Return the parameter that a flag is for, and its value: a flag may be cut short, and `--no_x` turns `x` off."""
    if name in signature.parameters or name in signature.shims:
        return name, value
    positive = name.removeprefix("no_")
    if positive != name and value is True and positive in signature.parameters:
        return positive, False
    begun = [each for each in signature.parameters if each.startswith(name)]
    return (begun[0], value) if len(begun) == 1 else (name, value)


def as_parsed(parameter: Parameter, value: Any, *, default: bool = False) -> Any:
    """Return the value that a dataclass gets for words, which are converted by the annotation.

    Args:
        parameter: What they are for.
        value: A word, several of them, or what a file says.
        default: Whether a file gives it to the parser as its default, which no list is made of.
    """
    if (listed := LIST.match(parameter.annotation)) and "str" not in parameter.types and not default:
        return _listed(listed[1], value)
    return _read(parameter, value) if isinstance(value, str) else value


def _listed(kind: str, value: Any) -> Any:
    words = value if isinstance(value, list) else [value]
    return [_number(word, (kind,)) if isinstance(word, str) and kind != "str" else word for word in words]


def _read(parameter: Parameter, word: str) -> Any:
    types = parameter.types
    if parameter.choices or "str" in types or "list" in types:
        return word
    if "bool" in types:
        return SWITCHES.get(word.lower(), Unknown())
    if "null" in types and word == "None":
        return None
    return _number(word, tuple(types))


def _number(word: str, types: tuple[str, ...]) -> Any:
    """Return the number that a word is, where one of the types is a number's; else what nobody knows."""
    for name, read in NUMBERS.items():
        if name in types:
            try:
                return read(word)
            except ValueError:
                continue
    return Unknown()
