"""JSON that others wrote, of any depth."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.text.json_text import DEEPEST, is_deep, parse_json

TEXTS = st.text(alphabet='[]{}"\\ax\n', max_size=12)


def nested(levels: int, inside: Any) -> Any:
    value = inside
    for number in range(levels):
        value = {"key": value} if number % 2 else [value]
    return value


@given(st.lists(TEXTS, min_size=1), TEXTS, st.integers(0, 3))
def test_brackets_and_quotes_in_a_text_are_no_levels(texts: list[str], key: str, spare: int) -> None:
    """Whatever a notebook's cells hold, also backslashes and quotes, only the JSON's own brackets count."""
    value = nested(DEEPEST - 2 - spare, {key: texts})

    assert parse_json(json.dumps(value)) == value
    assert not is_deep(json.dumps(value))
    assert is_deep(json.dumps(nested(spare + 1, value)))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": ' * 100_000, '["' + "\\" * 98 + '", ' + "[" * 65])
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    """Before it is parsed, so that no stack overflows."""
    with pytest.raises(ValueError, match="nested more than 64 levels deep"):
        parse_json(text)


def test_a_string_that_nothing_closes_ends_with_the_text() -> None:
    """It is not valid JSON, but not deep."""
    assert not is_deep('"' + "[" * 99)
    with pytest.raises(json.JSONDecodeError):
        parse_json('"' + "[" * 99)
