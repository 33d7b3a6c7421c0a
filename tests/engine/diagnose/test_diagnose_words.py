"""The words that every match of an expression has."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.diagnose.words import NoWordError, words_of

EXPRESSIONS = {
    r"CUDA out of memory\. Tried to allocate (?P<tried>[\d.]+ GiB)": ("CUDA out of memory. Tried to allocate ",),
    r"(?:prompt|chosen) is (?:not present|absent from) it": ("not present", "absent from"),
    r"^RuntimeError: (?:unable to open shared memory)?(?:device-side assert){1,2}": ("device-side assert",),
    r"(?i:whatever case) exactly this": (" exactly this",),
    r"(?:a|bb)+ trailing words$": (" trailing words",),
    r"rank (?=\d)\d+ was killed": (" was killed",),
    r"Expected .{0,200}on the same device": ("on the same device",),
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_longest_run_that_must_stand_is_the_word(expression: str) -> None:
    assert words_of(expression) == EXPRESSIONS[expression]


@pytest.mark.parametrize(
    "expression", [r"\d+ of \d+", r"(?i)cuda out of memory", r"(?:long enough words|x)", r"(?:optional words)?"]
)
def test_an_expression_without_such_a_run_is_told(expression: str) -> None:
    with pytest.raises(NoWordError, match="no run of 5 characters"):
        words_of(expression)


def test_a_run_that_healthy_logs_are_full_of_is_no_word_if_there_is_another() -> None:
    assert words_of(r"Exception: \d+ ranks") == (" ranks",)


@given(st.lists(st.text(alphabet="abcxyz .*", min_size=5, max_size=12), min_size=1, max_size=3), st.integers(0, 99))
def test_whatever_matches_has_one_of_the_words(runs: list[str], number: int) -> None:
    expression = r"\d+".join(map(re.escape, runs))
    text = str(number).join(runs)
    assert re.search(expression, text)
    assert any(word in text for word in words_of(expression))
