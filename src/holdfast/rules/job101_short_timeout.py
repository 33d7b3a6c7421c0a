"""Timeout that is too short for the run, or missing where the backend has a default.

## What it does
Checks `where.timeout` against the least time that any run takes: starting Python, importing torch and TRL, and the
steps of the job. On a backend that is not this machine, also checks for a job without a timeout.

## Why is this bad
A run that its timeout stops has cost everything, and leaves a checkpoint at best. Hugging Face Jobs end after 30
minutes by default. `holdfast run` therefore always sends a timeout; if the job names none, it uses that of
`holdfast plan`, which is based on an estimate.

## Fix safety
There is no automatic fix: only you know how long to wait. Use the expected time of the run, and add a third.
"""

from collections.abc import Iterator

from holdfast.catalog.calls.train_arguments import setting
from holdfast.catalog.hub.jobs import timeout_s
from holdfast.core.check.finding import Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.run.backends import BACKEND_KEY, BackendCapabilities, backend_of

# Far less than any run was seen to need: 4.5 s to import TRL from a warm cache and 4 ms a step, for a model of one
# layer and eight hidden units on a batch of one short row.
START_S = 1.0
STEP_S = 0.001
# With a cold cache, an environment to install or a model to download, a minute is gone before the first step.
USUAL_START_S = 60.0
ESTIMATED = "the run takes a timeout from its estimate, and is refused if its time is not known"


def check(job: Document) -> Iterator[Finding]:
    """Report a timeout that is shorter than the job can take."""
    timeout = job.get("where.timeout", None)
    backend = backend_of(job)
    if timeout is None:
        yield from _without_timeout(backend)
        return
    seconds, steps = _seconds(timeout), setting(job, "max_steps")
    if seconds is None:
        return
    least_s = START_S + STEP_S * max(steps, 0) if isinstance(steps, int) else START_S
    if seconds < least_s:
        yield Finding(
            "where.timeout", f"{timeout} is too short for the run: its start and its steps take {least_s:.0f} s or more"
        )
    elif seconds < USUAL_START_S:
        fault = f"{timeout} is enough only for the smallest runs: the start alone takes up to a minute"
        yield Finding("where.timeout", fault, severity=Severity.WARNING)


def _without_timeout(backend: BackendCapabilities) -> Iterator[Finding]:
    if not backend.is_here:
        fate = ESTIMATED if backend.has_flavors else f"the default of {backend.name} holds"
        yield Finding(BACKEND_KEY, f"without `where.timeout` {fate}", severity=Severity.WARNING)


def _seconds(timeout: object) -> float | None:
    try:
        return timeout_s(str(timeout))
    except ValueError:
        return None  # the schema check reports it


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  max_steps: 200000
where:
  timeout: 1h
"""

RULE = Rule(
    code="JOB101",
    name="short-timeout",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Measured with trl 1.16 and torch 2.13 on two cores: 4.5 s from start to end of a run of five steps, and 4.1 ms a "
        "step for the smallest model that trains. The 30 minutes are Hugging Face's own word, and were not tried."
    ),
    bad=(
        Case(job=JOB.replace("1h", "0.5s"), at="where.timeout"),
        Case(job=JOB.replace("1h", "2m"), at="where.timeout"),
        Case(job=JOB.replace("1h", "30s").replace("200000", "20"), at="where.timeout"),
        Case(job=JOB.replace("timeout: 1h", "backend: hf-jobs"), at="where.backend"),
    ),
    good=(
        Case(job=JOB),
        Case(job=JOB.replace("1h", "2m").replace("200000", "1000")),
        Case(job=JOB.replace("timeout: 1h", "backend: local")),
        Case(job=JOB.replace("timeout: 1h", "{backend: hf-jobs, timeout: 4h}").replace("where:\n ", "where:")),
    ),
)
