"""TOML that others wrote: whatever is wrong with it is one kind of error."""

import tomllib
from typing import Any


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table that a text is.

    Raises:
        tomllib.TOMLDecodeError: It is not valid TOML; also where it is nested deeper, or has longer numbers, than Python reads.

    >>> parse_toml("a = " + "[" * 9999)
    Traceback (most recent call last):
    tomllib.TOMLDecodeError: it is nested too deeply
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from None
    except ValueError as error:
        raise tomllib.TOMLDecodeError(str(error)) from None
