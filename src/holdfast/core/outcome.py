"""What comes of a call of code that may raise anything: a chat template, a function written from a dataset, a rule."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Raised:
    """The call did not return."""

    error: Exception


def outcome_of(call: Callable[[], T]) -> T | Raised:
    """Return what a call returns, or the exception that it raises.

    >>> outcome_of(lambda: 1 / 0)
    Raised(error=ZeroDivisionError('division by zero'))
    """
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller reports it
        return Raised(error)
