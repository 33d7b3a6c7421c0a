"""Values that a source states, apart from those that a program makes when it runs."""

from typing import Any

from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.calls import CallResult, LibraryName


def plain_value(key: str, value: Any) -> Any:
    """Return a value that the source states.

    Raises:
        MissingFactError: It is something of a library, or what a call returns.
    """
    if isinstance(value, CallResult | LibraryName):
        raise MissingFactError(key, f"`{value.path}` gives it when the program runs")
    return value
