"""What a formatting function makes of a row, before a trainer fails on it far from the function."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ..events import EventWriter

ONE_ROW = (0, 17)
"""The release of TRL since which the function is called with one row. Source: the wheels of 0.16.1 and 0.17.0."""
MADE = "input_ids"
"""A column of rows that are tokens already: the function is not called."""


def look_at_formatting(trainer: Any, given: Mapping[str, Any], events: EventWriter) -> None:
    """Report a function that does not make one text of one row, by its name.

    Args:
        trainer: Any trainer; only `SFTTrainer` takes such a function.
        given: What it is given.
        events: Receives the report.
    """
    function: Any = given.get("formatting_func")
    rows: Any = given.get("train_dataset")
    if not any(each.__name__ == "SFTTrainer" for each in type(trainer).__mro__):
        return
    if not callable(function) or not hasattr(rows, "column_names") or MADE in (rows.column_names or ()):
        return
    version = str(getattr(sys.modules.get("trl"), "__version__", "0")).split(".")
    if not all(part.isdigit() for part in version[:2]) or tuple(map(int, version[:2])) < ONE_ROW:
        return
    made: Any = ""
    with suppress(Exception):  # the trainer is to meet it
        made = function(next(iter(rows)))
    if not isinstance(made, str):
        code = getattr(function, "__code__", None)
        where = f" (line {code.co_firstlineno})" if code else ""
        name = getattr(function, "__name__", type(function).__name__)
        because = f"`{name}`{where} is the `formatting_func`, and makes a {type(made).__name__} of one row: TRL wants one text"
        events.fault("user-code-error", "tokenize", because, fix=f"Return one text (`str`) from `{name}`.")
