"""Training job submitted to a machine without a GPU.

## What it does
Checks for uv jobs that name no flavor, or one without GPUs, but need a GPU: they install vLLM, Unsloth, flash-attn or
DeepSpeed, or run one of TRL's own training scripts. If no flavor is named, also checks jobs that install TRL.

## Why is this bad
Without `flavor` a job gets `cpu-basic`: two cores and no GPU. Training there takes days, and vLLM, Unsloth and
flash-attn do not start at all.

## Fix safety
There is no automatic fix: the model decides which GPU is large enough, and each has its price.
"""

import re
from collections.abc import Iterator

from holdfast.catalog.hub.flavors import Flavor
from holdfast.catalog.hub.jobs import UV, Submission, submissions
from holdfast.catalog.hub.named_flavor import flavor_named
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import ABSENT, Document

NEEDS_GPU = frozenset({"vllm", "unsloth", "flash-attn", "deepspeed"})
TRAINS = frozenset({"trl"})
SCRIPTS = re.compile(r"/trl/scripts/(sft|dpo|grpo|kto|rloo|reward)\.py$")
NAME = re.compile(r"^[A-Za-z0-9._-]+")


def check(job: Document) -> Iterator[Finding]:
    """Report each job that needs a GPU and gets none."""
    for sent in submissions(job, UV):
        flavor = sent.given("flavor")
        named = flavor not in (ABSENT, None)
        found = _without_gpu(flavor)
        if found is None or not (named or sent.complete):
            continue
        if need := _need(sent, NEEDS_GPU if named else NEEDS_GPU | TRAINS):
            yield _finding(sent, f"{need} needs a GPU, and {found.name} has none", named=named)


def _without_gpu(flavor: object) -> Flavor | None:
    """Return the named flavor, or the default, if it has no GPU; None if it has one or is not known."""
    found = flavor_named(flavor if isinstance(flavor, str) else "cpu-basic")
    return found if found and not found.gpus else None


def _finding(sent: Submission, fault: str, *, named: bool) -> Finding:
    if named:
        return Finding(sent.key("flavor"), fault)
    return Finding(sent.key(), f"{fault}: name a `flavor`", place=sent.place())


def _need(sent: Submission, packages: frozenset[str]) -> str | None:
    script = sent.given("script")
    if isinstance(script, str) and SCRIPTS.search(script):
        return f"TRL's {script.rpartition('/')[2]}"
    listed = sent.given("dependencies")
    for text in listed if isinstance(listed, list | tuple) else ():
        name = NAME.match(text) if isinstance(text, str) else None
        if name and name[0].lower().replace("_", "-") in packages:
            return name[0]
    return None


SCRIPT = """
from huggingface_hub import run_uv_job

run_uv_job("train.py", dependencies=["trl==1.16.0"], flavor="a10g-large", timeout="2h")
"""
URL = """
from huggingface_hub import run_uv_job

run_uv_job("https://raw.githubusercontent.com/huggingface/trl/v1.16.0/trl/scripts/dpo.py", timeout="2h")
"""

RULE = Rule(
    code="JOB114",
    name="training-without-gpu",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "huggingface_hub 0.34 to 2.4, `_create_job_spec`: tried, without a flavor `cpu-basic` is sent. TRL 1.16 "
        "does train on a CPU, so that a flavor that was named for it is left alone; vLLM and Unsloth were not "
        "tried."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=SCRIPT.replace('flavor="a10g-large", ', ""), at="calls.0"),
        Case(script=URL, at="calls.0"),
        Case(script=SCRIPT.replace("a10g-large", "cpu-upgrade").replace("trl", "vllm"), at="calls.0.flavor"),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("a10g-large", "cpu-upgrade")),
        Case(script=SCRIPT.replace('flavor="a10g-large", ', "").replace("trl==1.16.0", "polars")),
    ),
)
