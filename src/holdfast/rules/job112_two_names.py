"""Job with two names: `name`, and a label.

## What it does
Checks for `name` together with `labels` that contain the key `name`, in calls that submit a job to Hugging Face Jobs.

## Why is this bad
A job's name is its label `name`. The client raises ValueError if both are given, even if they are equal.

## Fix safety
There is no automatic fix: the call does not show which of the two is meant.
"""

from collections.abc import Iterator, Mapping

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.hub.jobs import submissions
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import ABSENT, Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each second name of a job."""
    if not since(api, "huggingface_hub", "1.24.0"):
        return
    for sent in submissions(job):
        name, labels = sent.given("name"), sent.given("labels")
        twice = name not in (ABSENT, None) and isinstance(labels, Mapping) and "name" in labels
        if twice and not sent.guard.tolerates("ValueError"):
            yield Finding(sent.key("name"), "`labels` gives a `name` too, but the client takes only one")


SCRIPT = """
from huggingface_hub import run_uv_job

run_uv_job("train.py", timeout="2h", name="first", labels={"name": "first", "team": "a"})
"""

RULE = Rule(
    code="JOB112",
    name="two-names",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 1.24 to 2.4, `_create_job_spec`. Tried with both: ValueError. Before, jobs had no `name`."
    ),
    kinds=PROGRAMS,
    bad=(Case(script=SCRIPT, at="calls.0.name"),),
    good=(
        Case(script=SCRIPT.replace('"name": "first", ', "")),
        Case(script=SCRIPT.replace('name="first", ', "")),
    ),
)
