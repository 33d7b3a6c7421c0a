"""Timeout in seconds where minutes or hours were almost certainly meant.

## What it does
Checks for bare numbers up to 59 in the `timeout` of calls that submit a job to Hugging Face Jobs, on a flavor with
GPUs or as a uv job.

## Why is this bad
A number without a unit counts seconds: `timeout=30` stops the job before its packages are installed. Some tools count
minutes and hours instead.

## Fix safety
The fix is unsafe: it assumes minutes from 10 on, and hours below, but the call does not show which unit is meant.
"""

from collections.abc import Iterator

from holdfast.catalog.hub.jobs import Submission, submissions
from holdfast.catalog.hub.named_flavor import flavor_named
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set
from holdfast.core.text.numbers import is_number

START_S = 60  # starting a container or installing an environment alone takes longer
LIKELY_MINUTES = 10


def check(job: Document) -> Iterator[Finding]:
    """Report each timeout without a unit that is too small for seconds."""
    for sent in submissions(job):
        timeout = sent.given("timeout")
        number = _bare(timeout)
        if number is None or not 0 < number < START_S or not _is_slow(sent):
            continue
        key = sent.key("timeout")
        meant = f"{number:g}{'m' if number >= LIKELY_MINUTES else 'h'}"
        fault = f"{timeout!r} means {number:g} seconds, which the start alone uses up"
        yield Finding(key, fault, Fix(f"write `{meant}`", (Set(key, meant),), safe=False))


def _bare(timeout: object) -> float | None:
    if isinstance(timeout, str) and timeout.isascii() and timeout.isdigit():
        return int(timeout)
    return timeout if is_number(timeout) else None


def _is_slow(sent: Submission) -> bool:
    """True if a job surely needs longer: it installs packages, or is worth a GPU."""
    flavor = sent.given("flavor")
    found = flavor_named(flavor)
    return sent.is_uv or bool(found and found.gpus)


SCRIPT = """
from huggingface_hub import run_uv_job

run_uv_job("train.py", flavor="a10g-large", timeout="30m")
"""

RULE = Rule(
    code="JOB106",
    name="seconds-for-minutes",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "Tried with huggingface_hub 2.4, `_create_job_spec`: 30 and `'30'` are both sent as 30 seconds. That a start takes "
        "longer is judgement: importing TRL alone took 4.5 s here from a warm cache, and uv has to install it "
        "first."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=SCRIPT.replace('"30m"', "30"), at="calls.0.timeout", fixed=SCRIPT),
        Case(script=SCRIPT.replace('"30m"', '"2"'), at="calls.0.timeout", fixed=SCRIPT.replace("30m", "2h")),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace('"30m"', "1800")),
        Case(script=SCRIPT.replace('"30m"', '"30s"')),
    ),
)
