"""TOML that others wrote: whatever is wrong with it is one kind of error."""

import re
import tomllib
from typing import Any

HUGE = re.compile(r"0[xob][0-9a-fA-F_]{3000}")
"""An integer that may have more decimals than Python prints."""


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table that a text is.

    Raises:
        tomllib.TOMLDecodeError: It is not valid TOML; also where it is nested deeper, or has longer numbers, than Python reads.

    >>> parse_toml("a = " + "[" * 9999)
    Traceback (most recent call last):
    tomllib.TOMLDecodeError: it is nested too deeply
    >>> parse_toml("a = 0x" + "f" * 5000)
    Traceback (most recent call last):
    tomllib.TOMLDecodeError: Exceeds the limit (4300 digits) for integer string conversion; use sys.set_int_max_str_digits() to increase the limit
    """
    try:
        table = tomllib.loads(text)
        if HUGE.search(
            text
        ):  # of an integer with another base than 10, Python counts the decimals when they are asked for
            repr(table)
    except RecursionError:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from None
    except ValueError as error:
        raise tomllib.TOMLDecodeError(str(error)) from None
    return table
