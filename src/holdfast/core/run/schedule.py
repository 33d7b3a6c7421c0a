"""Schedules: a backend starts a job at certain times by itself."""

import re
from dataclasses import dataclass
from typing import Final

from holdfast.core.errors import UsageError
from holdfast.core.text.nearest import suggest_one

WORDS: Final = ("@hourly", "@daily", "@weekly", "@monthly", "@yearly", "@annually")
FIELDS: Final = (5, 6)
"""Numbers of fields of cron: some clocks count seconds too, which is left to the backend."""
FIELD: Final = re.compile(
    r"(?:[0-9*?/,#LW-]|sun|mon|tue|wed|thu|fri|sat|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)+", re.IGNORECASE
)
"""Characters and names of a field. What they mean together is left to the backend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSchedule:
    """A schedule that a backend keeps.

    Attributes:
        times: When jobs start: `@daily`, or fields of cron.
        id: Where the backend has it, which is known before it is created.
    """

    times: str
    id: str


def is_cron(text: str) -> bool:
    """True of a text that looks like fields of cron.

    >>> is_cron("0 9 * * 1-5"), is_cron("*/5 * * * MON#2"), is_cron("every monday at nine am")
    (True, True, False)
    """
    fields = text.split()
    return len(fields) in FIELDS and all(map(FIELD.fullmatch, fields))


def parse_times(text: str) -> str:
    """Return the times of a schedule as a backend takes them.

    Raises:
        UsageError: The text is neither a word nor fields of cron.

    >>> parse_times("@Daily "), parse_times("0  9 * * 1-5")
    ('@daily', '0 9 * * 1-5')
    """
    times = " ".join(text.split())
    if times.lower() in WORDS:
        return times.lower()
    if is_cron(times):
        return times
    cron = "or five fields of cron: `0 9 * * 1` is 9:00 on every Monday"
    fix = f"write one of {', '.join(WORDS)}, {cron}"
    if times.startswith("@"):
        fix = suggest_one(times.lower(), list(WORDS))
    raise UsageError(f"{text!r} is not a schedule", where="--schedule", fix=fix)
