"""Values of columns whose rows differ in type, which a frame holds as JSON texts.

A text stands there as it is, and is parsed all the same: `datasets` makes the number 42 of the text `42` too.
Tried with datasets 5.2: `load_dataset` of `{"a": "42"}`, `{"a": [1]}` gives 42 and [1].
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from holdfast.core.rows.columns import ListOf, Scalar, Struct, Type, scalars_of
from holdfast.core.text.json_text import parse_json

_LOOKS_LIKE_JSON: Final = re.compile(r'\s*(?:[\[{"]|(?:-?\d[\d.eE+-]*|true|false|null)\s*$)')


def unpackers(columns: Mapping[str, Type]) -> dict[str, Callable[[Any], Any]]:
    """Return the functions that unpack the values of a frame, for the columns that need one."""
    mixed = {name: kind for name, kind in columns.items() if any(part.word == "json" for part in scalars_of(kind))}
    return {name: partial(unpack, kind=kind) for name, kind in mixed.items()}


def unpack_rows(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, Type]) -> Iterator[dict[str, Any]]:
    """Yield rows of a frame as `datasets` gives them to a trainer or a mapping.

    >>> rows = [{"messages": ['{"role": "user", "content": "Who?"}'], "id": 1}]
    >>> list(unpack_rows(rows, {"messages": ListOf(Scalar("json")), "id": Scalar("integer")}))
    [{'messages': [{'role': 'user', 'content': 'Who?'}], 'id': 1}]
    """
    unpacking = unpackers(columns)
    for row in rows:
        yield {name: unpacking[name](value) if name in unpacking else value for name, value in row.items()}


def unpack(value: Any, *, kind: Type) -> Any:
    """Return a value as the trainer gets it.

    >>> unpack(['{"role": "user", "content": "Who?"}', "aside"], kind=ListOf(Scalar("json")))
    [{'role': 'user', 'content': 'Who?'}, 'aside']
    >>> unpack(["42", '"42"', "four", "[sic]"], kind=ListOf(Scalar("json")))
    [42, '42', 'four', '[sic]']
    """
    if value is None:
        return None
    match kind:
        case ListOf(of):
            return [unpack(part, kind=of) for part in value]
        case Struct(fields):
            return {name: unpack(value.get(name), kind=part) for name, part in fields.items()}
        case Scalar("json"):
            return _parsed(value)
        case _:
            return value


def _parsed(text: Any) -> Any:
    """Return the content of a JSON text; a plain text stays one."""
    if not isinstance(text, str) or not _LOOKS_LIKE_JSON.match(text):
        return text
    try:
        return parse_json(text)
    except ValueError:
        return text
