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
    if not _is_called(trainer, function, rows) or not _takes_one_row():
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


def _is_called(trainer: Any, function: Any, rows: Any) -> bool:
    """True if a trainer calls the function for rows, and these can be looked at."""
    is_taken = any(each.__name__ == "SFTTrainer" for each in type(trainer).__mro__) and callable(function)
    return is_taken and hasattr(rows, "column_names") and MADE not in (rows.column_names or ())


def _takes_one_row() -> bool:
    """True of releases of TRL that call the function with one row."""
    version = str(getattr(sys.modules.get("trl"), "__version__", "0")).split(".")[:2]
    return all(part.isdigit() for part in version) and tuple(map(int, version)) >= ONE_ROW
