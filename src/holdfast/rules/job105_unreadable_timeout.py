"""Timeout that the client cannot parse, or that leaves no time at all.

## What it does
Checks `timeout` in calls that submit a job to Hugging Face Jobs, and parses it as the client does: a number with one
of the letters s, m, h or d, or whole seconds.

## Why is this bad
The client raises ValueError for `30min`, `2 hours`, `1h30m` or `4H`, and submits no job. It sends zero and negative
times unchanged: `0h` is not the same as no timeout.

## Fix safety
The fix is safe: it writes the same time in the client's notation, if only the notation is wrong.
"""

import re
from collections.abc import Iterator
from typing import Any

from holdfast.catalog.hub.jobs import submissions, timeout_s
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set

PART = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d)(?:ec|in|r|ay|econd|inute|our)?s?(?![a-z])", re.IGNORECASE)
UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def check(job: Document) -> Iterator[Finding]:
    """Report each timeout that the client refuses, or that leaves no time."""
    for sent in submissions(job):
        timeout = sent.given("timeout")
        if isinstance(timeout, bool) or not isinstance(timeout, int | float | str) or not timeout:
            continue
        key = sent.key("timeout")
        try:
            seconds = timeout_s(timeout)
        except ValueError:
            if not sent.guard.tolerates("ValueError"):
                fault = f"the client cannot read {timeout!r}: write a number and s, m, h or d, such as `90m`"
                yield Finding(key, fault, _spelled(key, timeout))
        else:
            if seconds <= 0:
                fault = f"{timeout!r} is sent as {seconds} seconds, in which no job can run"
                yield Finding(key, fault, severity=Severity.WARNING)


def _spelled(key: str, timeout: Any) -> Fix | None:
    """Return the same timeout in the client's notation, if it is unambiguous."""
    text = str(timeout).strip()
    parts = PART.findall(text)
    if not parts or PART.sub("", text).strip(" ,"):
        return None
    total = sum(float(number) * dict(UNITS)[unit.lower()] for number, unit in parts)
    unit, size = next(((unit, size) for unit, size in UNITS[1:] if not total % size), ("s", 1))
    spelled = f"{total / size:g}{unit}"
    return Fix(f"write `{spelled}`", (Set(key, spelled),))


SCRIPT = """
from huggingface_hub import run_uv_job

run_uv_job("train.py", flavor="a10g-large", timeout="90m")
"""

RULE = Rule(
    code="JOB105",
    name="unreadable-timeout",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 0.34 to 2.4, where the function that reads it is the same in each. 18 values were given to"
        " that of 2.4: ValueError for those named here, and 0 or less for `0h` and `-1h`. What the Hub makes of 0 "
        "was not tried."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=SCRIPT.replace("90m", "30min"), at="calls.0.timeout", fixed=SCRIPT.replace("90m", "30m")),
        Case(script=SCRIPT.replace("90m", "2 hours"), at="calls.0.timeout", fixed=SCRIPT.replace("90m", "2h")),
        Case(script=SCRIPT.replace("90m", "1h30m"), at="calls.0.timeout", fixed=SCRIPT),
        Case(script=SCRIPT.replace("90m", "4H"), at="calls.0.timeout", fixed=SCRIPT.replace("90m", "4h")),
        Case(script=SCRIPT.replace("90m", "a while"), at="calls.0.timeout"),
        Case(script=SCRIPT.replace("90m", "0h"), at="calls.0.timeout"),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace('"90m"', "5400")),
        Case(script=SCRIPT.replace("90m", "1.5h")),
        Case(script=SCRIPT.replace("90m", "5400")),
    ),
)
