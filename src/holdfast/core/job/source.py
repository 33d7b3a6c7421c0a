"""Values as Python source."""

import json
from typing import Any


class SourceExpression(str):
    """A value as it is written in a program: `SFTConfig(max_length=512)`."""

    __slots__ = ()


def is_plain(value: Any) -> bool:
    """True if a value can be written as Python: no part of it is unknown, or made by something else.

    >>> is_plain({"a": [1, None]}), is_plain([object()])
    (True, False)
    """
    if isinstance(value, dict):
        return all(map(is_plain, (*value, *value.values())))
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)


def render_value(value: Any) -> str:
    """Return a plain value as Python writes it, text in double quotes.

    >>> render_value({"a": ["x", None, 1e-5]})
    '{"a": ["x", None, 1e-05]}'
    """
    if isinstance(value, SourceExpression):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{render_value(key)}: {render_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(render_value, value)) + "]"
    return repr(value)
