"""Hardware that Hugging Face Jobs does not offer.

## What it does
Checks the `flavor` of calls that submit a job, and `where.hardware` of a job file for `hf-jobs`, against the list of
flavors in huggingface_hub, and names the nearest.

## Why is this bad
The client sends any text, and the Hub answers with an error. Pages in circulation still name `h100`, the TPUs
`v5e-…`, and `zero-a10g`, which is only for Spaces.

## Fix safety
The fix is unsafe because the price may differ: it replaces a misspelt name by the nearest one, and a retired flavor
by the most similar one.
"""

from collections.abc import Iterator

from holdfast.catalog.hub.flavors import flavors_made, gone_flavors, load_flavors
from holdfast.catalog.hub.jobs import submissions
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set
from holdfast.core.run.backends import backend_of
from holdfast.core.text.nearest import nearest

NEAR = 0.8  # `a10g-larg` and `A100_large` are near a flavor, `b300x8` is not: it may be new


def check(job: Document) -> Iterator[Finding]:
    """Report each flavor that Hugging Face Jobs does not offer."""
    if job.kind == "job" and backend_of(job).has_flavors:
        yield from _judge("where.hardware", job.get("where.hardware", None))
    for sent in submissions(job):
        yield from _judge(sent.key("flavor"), sent.given("flavor"))


def _judge(key: str, flavor: object) -> Iterator[Finding]:
    if not isinstance(flavor, str) or not flavor or flavor in load_flavors():
        return
    if gone := gone_flavors().get(flavor):
        why = f"huggingface_hub has not listed it since {gone.since}" if gone.since else "it is for Spaces alone"
        yield Finding(key, f"there is no flavor {flavor!r} for Jobs: {why}", _instead(key, gone.instead))
        return
    spelled = flavor.lower().replace("_", "-").removeprefix("gpu-")
    near = nearest(spelled, tuple(load_flavors()), cutoff=NEAR)
    fault = f"{flavor!r} is not among the flavors of {flavors_made()}"
    if near:
        yield Finding(key, f"{fault}; the nearest is {near!r}", _instead(key, near))
    else:
        yield Finding(key, f"{fault}: {', '.join(load_flavors())}", severity=Severity.WARNING)


def _instead(key: str, flavor: str) -> Fix | None:
    return Fix(f"use {flavor}", (Set(key, flavor),), safe=False) if flavor else None


SCRIPT = """
from huggingface_hub import run_uv_job

run_uv_job("train.py", flavor="h200", timeout="2h")
"""
JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
where: {backend: hf-jobs, hardware: a10g-large, timeout: 2h}
"""

RULE = Rule(
    code="JOB107",
    name="unknown-flavor",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 0.16 to 2.4, `SpaceHardware` and `JobHardware` of each release, read from the wheels. "
        "Tried with 2.4: the client posts an invented name. That the Hub refuses it was not tried: a name like none"
        " on the list is a warning."
    ),
    kinds=ANY_KIND,
    bad=(
        Case(script=SCRIPT.replace("h200", "h100"), at="calls.0.flavor", fixed=SCRIPT),
        Case(script=SCRIPT.replace("h200", "v5e-2x4"), at="calls.0.flavor"),
        Case(
            script=SCRIPT.replace("h200", "a10g_larg"),
            at="calls.0.flavor",
            fixed=SCRIPT.replace("h200", "a10g-large"),
        ),
        Case(script=SCRIPT.replace("h200", "b300x8"), at="calls.0.flavor"),
        Case(job=JOB.replace("a10g-large", "A10G-large"), at="where.hardware", fixed=JOB),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace('flavor="h200", ', "")),
        Case(job=JOB),
        Case(job=JOB.replace("hf-jobs, hardware: a10g-large", "slurm, hardware: h100")),
    ),
)
