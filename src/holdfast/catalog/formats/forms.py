"""What a column's values are to a trainer: text, messages, tokens, or nothing that it can use.

Source: trl 1.16, `is_conversational` and `is_conversational_from_value` of `data_utils`: they look at the first message
of a list, and take it for one by its keys alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, Final, Literal

from holdfast.core.rows.columns import NULL, STRING, ListOf, Scalar, Struct, Type

Form = Literal[
    "text", "chat", "shared", "silent", "turn", "empty", "texts", "tokens", "flags", "numbers", "number", "flag",
    "null", "image", "images", "other", "unknown",
]  # fmt: skip
"""`chat` is a list of messages by role and content, `shared` one by from and value as ShareGPT has it, `silent` one by
role whose messages have no content; `turn` is one message alone, `tokens` a list of integers."""

NAMES: Final[Mapping[Form, str]] = {
    "text": "text",
    "chat": "a list of messages",
    "shared": "a list of messages by `from` and `value`",
    "silent": "a list of messages without `content`",
    "turn": "one message and no list",
    "empty": "a list without anything in it",
    "texts": "a list of texts",
    "tokens": "a list of integers",
    "flags": "a list of true and false",
    "numbers": "a list of numbers",
    "number": "a number",
    "flag": "true or false",
    "null": "null in every row",
    "image": "an image",
    "images": "a list of images",
    "other": "no text",
    "unknown": "of an unknown type",
}
SCALARS: Final[Mapping[str, Form]] = {
    "string": "text",
    "integer": "number",
    "float": "number",
    "boolean": "flag",
    "null": "null",
    "image": "image",
    "json": "unknown",
    "other": "unknown",
}
LISTS: Final[Mapping[str, Form]] = {
    "string": "texts",
    "integer": "tokens",
    "float": "numbers",
    "boolean": "flags",
    "null": "empty",
    "image": "images",
    "json": "unknown",
    "other": "unknown",
}

SIMPLE: Final[Mapping[type, Scalar]] = {
    NoneType: NULL,
    bool: Scalar("boolean"),
    int: Scalar("integer"),
    float: Scalar("float"),
    str: STRING,
    bytes: Scalar("binary"),
}

Forms = Mapping[str, Form]


def form_of(kind: Type | None) -> Form:
    """Return the form of values of a type; `unknown` for an unknown type.

    >>> form_of(ListOf(Struct({"role": STRING, "content": STRING})))
    'chat'
    >>> form_of(None)
    'unknown'
    """
    match kind:
        case None:
            return "unknown"
        case Scalar(word):
            return SCALARS.get(word, "other")
        case ListOf(Scalar(word)):
            return LISTS.get(word, "other")
        case ListOf(Struct(fields)):
            return _form_of_messages(fields)
        case Struct(fields):
            return "turn" if STRING in (fields.get("role"), fields.get("from")) else "other"
        case ListOf():
            return "other"


def _form_of_messages(fields: Mapping[str, Type]) -> Form:
    if "role" in fields:
        return "chat" if {"content", "tool_calls"} & fields.keys() else "silent"
    return "shared" if {"from", "value"} <= fields.keys() else "other"


def forms_of(columns: Mapping[str, Type | None]) -> dict[str, Form]:
    """Return the form of each column."""
    return {name: form_of(kind) for name, kind in columns.items()}


def settle(columns: Mapping[str, Type | None], samples: Sequence[Mapping[str, Any]]) -> dict[str, Type | None]:
    """Return the columns with the types of those that nobody knows, or that differ by row, taken from rows.

    Args:
        columns: Their types, as far as they are known.
        samples: Rows, as Python values.
    """
    return {
        name: type_of_values(row.get(name) for row in samples) if samples and form_of(kind) == "unknown" else kind
        for name, kind in columns.items()
    }


def types_of_rows(rows: Sequence[Mapping[str, Any]]) -> dict[str, Type]:
    """Return the columns of rows given as Python values, in the order they come up.

    >>> {name: str(kind) for name, kind in types_of_rows([{"a": 1}, {"a": 2.5, "b": ["x"]}]).items()}
    {'a': 'float', 'b': 'list<string>'}
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: type_of_values(row.get(name) for row in rows) for name in names}


def type_of_values(values: Iterable[Any]) -> Type:
    """Return the one type of some values; `json` where they do not share one, `null` where there are none."""
    kind: Type = NULL
    for value in values:
        kind = _both(kind, _type_of(value))
    return kind


def _type_of(value: Any) -> Type:
    match value:
        case Mapping():
            return Struct({str(name): _type_of(part) for name, part in value.items()})
        case list() | tuple():
            return ListOf(type_of_values(value))
        case _:
            return SIMPLE.get(type(value), Scalar("other"))


def _both(one: Type, other: Type) -> Type:
    """Return the type that holds values of both."""
    if one in (NULL, other):
        return other
    match one, other:
        case _, Scalar("null"):
            return one
        case ListOf(first), ListOf(second):
            return ListOf(_both(first, second))
        case Struct(first_fields), Struct(second_fields):
            names = dict.fromkeys([*first_fields, *second_fields])
            return Struct({name: _both(first_fields.get(name, NULL), second_fields.get(name, NULL)) for name in names})
        case Scalar("integer" | "float"), Scalar("integer" | "float"):
            return Scalar("float")
        case _:
            return Scalar("json")
