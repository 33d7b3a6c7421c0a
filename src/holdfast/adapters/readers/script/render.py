"""Values as Python source."""

import json
from typing import Any

from holdfast.core.document import Source


def is_written_plainly(value: Any) -> bool:
    """Tell whether a value can be written as Python: no part of it is unknown, or made by something else.

    >>> is_written_plainly({"a": [1, None]}), is_written_plainly([object()])
    (True, False)
    """
    if isinstance(value, dict):
        return all(map(is_written_plainly, (*value, *value.values())))
    if isinstance(value, list | tuple):
        return all(map(is_written_plainly, value))
    return value is None or isinstance(value, bool | int | float | str)


def render_value(value: Any) -> str:
    """Return a plain value as Python writes it, text in double quotes.

    >>> render_value({"a": ["x", None, 1e-5]})
    '{"a": ["x", None, 1e-05]}'
    """
    if isinstance(value, Source):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{render_value(key)}: {render_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(render_value, value)) + "]"
    return repr(value)
