"""Which texts are schedules."""

import pytest

from holdfast.core.errors import UsageError
from holdfast.core.run.schedule import parse_times


@pytest.mark.parametrize(
    "text",
    ["0 9 * * 1", "*/5 0 1,15 jan-MAR ?", "0 0 L * *", "0 0 * * Mon#2", "0 0 15W * *", "30 0 9 * * MON-FRI", "@Daily"],
)
def test_cron_is_taken(text: str) -> None:
    """With the names and the signs that clocks know."""
    assert parse_times(text)


@pytest.mark.parametrize("text", ["every monday at nine am", "at nine on each day", "a b c d e", "0 9 * *", "@dayly"])
def test_words_are_no_cron(text: str) -> None:
    """Five words are no five fields."""
    with pytest.raises(UsageError, match="is not a schedule"):
        parse_times(text)
