"""Kinds of numbers in settings and rows. In Python a `bool` is an `int`; here it is none."""

from typing import Any, TypeGuard


def is_number(value: Any) -> TypeGuard[float]:
    """True if a value is a number.

    >>> is_number(0.5), is_number(True), is_number("1")
    (True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: Any) -> TypeGuard[int]:
    """True if a value is an `int`."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_count(value: Any) -> TypeGuard[int]:
    """True if a value is an `int` above 0: a number of rows, steps or processes."""
    return is_whole(value) and value > 0
