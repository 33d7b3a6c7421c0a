"""GPU job submitted without a timeout.

## What it does
Checks the `timeout` of calls that submit a job to Hugging Face Jobs with a `flavor` that has GPUs. Nothing, None, 0
and an empty text are all the same to the client: it sends no timeout.

## Why is this bad
The Hub stops such a job after 30 minutes, whatever it is doing, and everything that it has not pushed by then is lost
with its disk. Installing torch and downloading a model take part of that time.

## Fix safety
There is no automatic fix: only you know how long is worth paying for. Use the expected time of the run, and add a
third.
"""

from collections.abc import Iterator

from holdfast.catalog.hub.jobs import DEFAULT_TIMEOUT, Submission, submissions
from holdfast.catalog.hub.named_flavor import flavor_named
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import ABSENT, Document


def check(job: Document) -> Iterator[Finding]:
    """Report each GPU job that is submitted without a timeout."""
    for sent in submissions(job):
        if not sent.complete:
            continue
        flavor, timeout = sent.given("flavor"), sent.given("timeout")
        found = flavor_named(flavor)
        if found is None or not found.gpus or not _sends_none(sent, timeout):
            continue
        if timeout is ABSENT:
            fault = f"{sent.name} sets no `timeout`: the Hub stops the job after {DEFAULT_TIMEOUT}"
            yield Finding(sent.key(), fault, place=sent.place())
        else:
            fault = f"`timeout={timeout!r}` is not sent: the Hub stops the job after {DEFAULT_TIMEOUT}"
            yield Finding(sent.key("timeout"), fault)


def _sends_none(sent: Submission, timeout: object) -> bool:
    """True if the client sends no timeout; on a command line all is text, and `0` is sent."""
    if timeout is ABSENT or sent.call is None:
        return timeout is ABSENT
    return timeout is None or (isinstance(timeout, int | float | str) and not timeout)


SCRIPT = """
from huggingface_hub import run_uv_job

run_uv_job("train.py", flavor="a10g-large")
"""
OTHER = """
from huggingface_hub import HfApi

api = HfApi()
api.run_job(image="python:3.12", command=["python", "-V"], flavor="t4-small", timeout=0)
"""

RULE = Rule(
    code="JOB104",
    name="default-timeout",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "huggingface_hub 0.34 to 2.4, `_create_job_spec`: it was called with each of these values, and what it made"
        " held no `timeoutSeconds`. The 30 minutes are Hugging Face's own word, and were not tried."
    ),
    kinds=PROGRAMS,
    bad=(Case(script=SCRIPT, at="calls.0"), Case(script=OTHER, at="calls.1.timeout")),
    good=(
        Case(script=SCRIPT.replace('large"', 'large", timeout="2h"')),
        Case(script=SCRIPT.replace("a10g-large", "cpu-upgrade")),
        Case(script=SCRIPT.replace('"a10g-large"', '"a10g-large", **{"timeout": "2h"}')),
        Case(script=OTHER.replace("=0", "=1800")),
    ),
)
