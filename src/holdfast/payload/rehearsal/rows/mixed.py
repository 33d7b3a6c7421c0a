"""Columns whose rows differ in type, of which the script makes texts itself: a record is written as Python spells it.

Source: datasets 5, which loads such a file with the type `Json`; a column that no line of the script names is of no matter.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..events import EventWriter

KIND = "Json"
"""The type of a column whose rows differ."""
NAMES = {str: "a text", dict: "a record", list: "a list", int: "a number", float: "a number", bool: "true or false"}
READ = r"""(?:[\w\])]\[|\.get\()["']{}["']"""
"""How a script's text looks that reads a column of a row; a list of names, as `remove_columns` takes, looks otherwise."""
APART = 2
"""Kinds of values that make a column mixed."""


def look_at_types(
    rows: Sequence[Mapping[str, Any]], features: Mapping[str, Any], source: str, events: EventWriter
) -> None:
    """Report columns that the script reads and that are a text in one row and something else in the next.

    Args:
        rows: The first rows, columns of such a type as JSON.
        features: The types of the columns, as `datasets` writes them.
        source: The script's text.
        events: Receives the report.
    """
    for name, kind in features.items():
        if isinstance(kind, Mapping) and kind.get("_type") == KIND and re.search(READ.format(re.escape(name)), source):
            kinds = list(
                dict.fromkeys(NAMES[type(each)] for row in rows if (each := _value(row.get(name))) is not None)
            )
            if len(kinds) >= APART:
                because = (
                    f"`{name}` is {' in some rows and '.join(kinds)} in others: a text that is made of it says so too"
                )
                events.warning("dataset-json-type-inconsistent", "data", because)


def _value(written: Any) -> Any:
    """Return the value that a cell of such a column stands for."""
    try:
        return json.loads(written) if isinstance(written, str) else written
    except ValueError:
        return written
