"""JSON that others wrote: whatever is wrong with it is one kind of error."""

import json
import re
from typing import Any, Final, NoReturn, TypeVar

DEEPEST: Final = 64
"""Levels that are read. Arrow's schemas have no more, so that `load_dataset` stops at a deeper row. Tried with datasets 5.2."""
TOO_DEEP: Final = f"it is nested more than {DEEPEST} levels deep"
Number = TypeVar("Number", int, float)
BRACKET: Final = re.compile(r"[\[\]{}]")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number to compute with")


def _usable_float(digits: str) -> float:
    return _usable(float(digits))


def _usable_int(digits: str) -> int:
    return _usable(int(digits))


def _usable(number: Number) -> Number:
    if not -GREATEST <= number <= GREATEST:
        raise ValueError(f"a number is beyond {GREATEST:g}")
    return number


GREATEST: Final = 1e300
"""Differences, means and margins of such numbers are still finite."""
USABLE_NUMBERS: Final = json.JSONDecoder(
    parse_float=_usable_float, parse_int=_usable_int, parse_constant=_refuse_constant
)
"""Refuses numbers that cannot be computed with: NaN, infinite ones, and those near to it."""
ANY_NUMBERS: Final = json.JSONDecoder()


def parse_json(text: str | bytes, decoder: json.JSONDecoder = ANY_NUMBERS) -> Any:
    """Return the value that a text is.

    Raises:
        ValueError: It is not valid JSON; also where it is nested deeper, or has longer integers, than is read.

    >>> parse_json("[1e999]"), parse_json("[1e9]", USABLE_NUMBERS)
    ([inf], [1000000000.0])
    >>> parse_json('{"a": ' * 99 + "1" + "}" * 99)
    Traceback (most recent call last):
    ValueError: it is nested more than 64 levels deep
    """
    decoded = text if isinstance(text, str) else text.decode()
    if is_deep(decoded):
        raise ValueError(TOO_DEEP)
    return decoder.decode(decoded)


def is_deep(text: str) -> bool:
    """True if JSON is nested deeper than is read, whether it is valid or not.

    >>> is_deep("[" * 65), is_deep("[]" * 65), is_deep(f'"{"[" * 65}"')
    (True, False, False)
    """
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    level = 0
    without_escapes = text.replace("\\\\", "").replace('\\"', "")
    outside_strings = "".join(without_escapes.split('"')[::2])
    for bracket in BRACKET.findall(outside_strings):
        level += 1 if bracket in "[{" else -1
        if level > DEEPEST:
            return True
    return False


def render_canonical(value: Any) -> str:
    """Return a value as JSON that is the same for the same value: 1, 1.0 and true are three.

    >>> render_canonical({"b": 1, "a": 1.0}) == render_canonical({"a": 1.0, "b": 1})
    True
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
