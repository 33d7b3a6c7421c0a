"""What the processes that answer commands have in common: they call libraries, models and tasks, which may raise anything."""

import os
import resource
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TextIO, TypeVar

WORDS: Final = 600
"""Most characters of an error."""
SHARE: Final = 0.8
"""The share of the free memory that calls may fill: the templates of tasks can write texts of any length."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RaisedCall:
    """The call did not return."""

    error: Exception


def attempt(call: Callable[[], T]) -> T | RaisedCall:
    """Return what a call returns, or the exception that it raises."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - the caller reports it
        return RaisedCall(error)


def attempt_aloud(call: Callable[[], T]) -> T | RaisedCall:
    """Do as `attempt`, and print the traceback of an exception."""
    outcome = attempt(call)
    if isinstance(outcome, RaisedCall):
        traceback.print_exception(outcome.error)
    return outcome


def describe_error(error: BaseException) -> str:
    """Return an error in one line."""
    words = shorten_error(error)
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def shorten_error(error: BaseException) -> str:
    """Return the message of an error in one line, without its class."""
    return " ".join(str(error).split())[:WORDS]


def bound_memory() -> None:
    """Have calls that would fill more than a share of the free memory raise `MemoryError`, so that the machine keeps the rest."""
    import psutil  # which few of these processes need

    most = int(psutil.Process().memory_info().data + SHARE * psutil.virtual_memory().available)
    with suppress(OSError, ValueError):  # a lower limit holds already
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def claim_output() -> TextIO:
    """Return standard output for answers alone. What libraries print goes to standard error from now on."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers
