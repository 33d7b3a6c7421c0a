"""Timeout that stops the job before it is finished.

## What it does
Checks `where.timeout` against the time that `holdfast plan` estimates on the job's hardware. Reports an error if even
the lower end of the estimate is longer, and a warning if the best single estimate is.

## Why is this bad
The job is stopped in the middle. The cost is lost, except for the newest checkpoint, if it was saved elsewhere.

## Fix safety
There is no automatic fix. `holdfast plan` proposes a timeout: the upper end of the estimate, saving and pushing, and
30 % more.
"""

from collections.abc import Iterator
from dataclasses import replace

from holdfast.catalog.hub.jobs import timeout_s
from holdfast.core.check.finding import Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.plan.estimate import Interval, JobEstimate, exactly

KEY = "where.timeout"
MINUTE_S = 60


def check(job: Document, estimate: JobEstimate | None) -> Iterator[Finding]:
    """Report a timeout that certainly or probably stops the job before it is finished."""
    given = job.get(KEY, None)
    if given is None or estimate is None or estimate.seconds is None or estimate.timeout_s is None:
        return
    try:
        limit = timeout_s(str(given))
    except ValueError:
        return  # the schema check reports it
    seconds = estimate.seconds
    minutes = f"{seconds.low / MINUTE_S:.0f} to {seconds.high / MINUTE_S:.0f} minutes on {estimate.hardware}"
    enough = f"{estimate.timeout_s // MINUTE_S}m would be enough"
    if limit < seconds.low:
        yield Finding(KEY, f"{given} is too short: the job takes {minutes}; {enough}")
    elif limit < seconds.value:
        yield Finding(KEY, f"{given} may be too short: the job takes {minutes}; {enough}", severity=Severity.WARNING)


JOB = """
method: sft
model: {path: Qwen/Qwen3-8B}
dataset: trl-lib/Capybara
where: {backend: hf-jobs, hardware: h200, timeout: 1h}
"""
FITS = JobEstimate(hardware="h200", card=exactly(1_000_000_000), usable_bytes=2_000_000_000)


def takes(low: float, value: float, high: float) -> dict[str, JobEstimate]:
    """Return the fact of a job that takes some hours."""
    seconds = Interval(value * 3600, low * 3600, high * 3600)
    return {"estimate": replace(FITS, seconds=seconds, timeout_s=round(high * 4800))}


RULE = Rule(
    code="RES102",
    name="outrun-timeout",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The time of `plan`: its lower end is the launch of a step's operations alone, without arithmetic. Compared on 2026-11-27 "
        "with 109 published runs on A100 cards that others measured, the middle was 17 % off at the median (docs/estimates.md)."
    ),
    bad=(Case(job=JOB, facts=takes(2, 3, 4), at=KEY), Case(job=JOB, facts=takes(0.5, 2, 4), at=KEY)),
    good=(
        Case(job=JOB, facts=takes(0.3, 0.5, 2)),
        Case(job=JOB.replace(", timeout: 1h", ""), facts=takes(2, 3, 4)),
        Case(job=JOB, facts={"estimate": None}),
    ),
)
