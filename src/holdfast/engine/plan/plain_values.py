"""Values that a source states, apart from those that a program makes when it runs."""

from typing import Any

from holdfast.core.calls import CallResult, LibraryName
from holdfast.core.finding import MissingFactError


def plain_value(key: str, value: Any) -> Any:
    """Return a value that the source states.

    Raises:
        MissingFactError: It is something of a library, or what a call returns.
    """
    if isinstance(value, CallResult | LibraryName):
        raise MissingFactError(key, f"`{value.path}` gives it when the program runs")
    return value
