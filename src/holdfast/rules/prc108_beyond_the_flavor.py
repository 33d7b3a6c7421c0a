"""Precision or attention kernel that the flavor's GPU does not support.

## What it does
For jobs started with `hf jobs …`, and for jobs that `run_uv_job` submits with their options in `script_args`, checks
`bf16`, `tf32` and `flash_attention_2` against the compute capability of the flavor's GPU.

## Why is this bad
`tf32` and flash attention need an Ampere GPU (8.0) or a newer one, and raise on a T4 (7.5). bfloat16 does not raise
there: torch reports it as supported, emulates it, and training is slow.

## Fix safety
There is no automatic fix: a T4 is fast in `fp16`; l4x1 and a10g-small are the next larger flavors.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from holdfast.catalog.hub.jobs import Submission, submissions
from holdfast.catalog.hub.named_flavor import flavor_named
from holdfast.catalog.hub.sent_words import words_given
from holdfast.core.check.facts import Gpu
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

FLASH = ("flash_attention_2", "flash_attention_3")
TRUE = (True, "true", "True", "1", "yes")
LIMITS: Mapping[str, tuple[tuple[object, ...], str, Severity | None]] = {
    "tf32": (TRUE, "does not compute in tf32", None),
    "bf16": (TRUE, "emulates bfloat16, slowly", Severity.WARNING),
    "attn_implementation": (FLASH, "does not run {}", None),
}
"""Settings with the values that a GPU without bfloat16 does not support, and what it does instead."""


def check(job: Document) -> Iterator[Finding]:
    """Report each setting that the flavor's GPU does not support."""
    for sent in submissions(job):
        flavor = sent.given("flavor")
        if old := _gpu_without_bf16(flavor):
            settings = _settings(job) if sent.call is None else _options(sent)
            lacks = f"the {old.name} of {flavor} (compute capability {old.capability[0]}.{old.capability[1]})"
            yield from _unsupported(lacks, settings)


def _gpu_without_bf16(flavor: object) -> Gpu | None:
    found = flavor_named(flavor)
    return next((gpu for gpu in found.gpus if not gpu.bf16), None) if found else None


def _unsupported(lacks: str, settings: Mapping[str, tuple[str, Any]]) -> Iterator[Finding]:
    for name, (key, value) in settings.items():
        values, fault, severity = LIMITS.get(name, ((), "", None))
        if value in values:
            yield Finding(key, f"{lacks} {fault.format(value)}", severity=severity)


def _settings(job: Document) -> dict[str, tuple[str, Any]]:
    keys = {"tf32": "train.tf32", "bf16": "train.bf16", "attn_implementation": "model.attn_implementation"}
    return {name: (key, job.get(key, None)) for name, key in keys.items()}


def _options(sent: Submission) -> Mapping[str, tuple[str, Any]]:
    """Return the options in `script_args`; one without a value is true."""
    options: dict[str, tuple[str, Any]] = {}
    for word, following in pairwise([*words_given(sent, "script_args"), "--"]):
        name, equals, inline = word.removeprefix("--").partition("=")
        if word.startswith("--"):
            value = inline if equals else True if following.startswith("--") else following
            options[name.replace("-", "_")] = (sent.key("script_args"), value)
    return options


SCRIPT = """
from huggingface_hub import run_uv_job

run_uv_job("train.py", script_args=["--fp16"], flavor="t4-small", timeout="2h")
"""

RULE = Rule(
    code="PRC108",
    name="beyond-the-flavor",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, `TrainingArguments` (tf32: ValueError, tried where there is no such GPU), and "
        "`torch.cuda.is_bf16_supported` of torch 2.13. What is said of a T4 was read, not run."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=SCRIPT.replace("--fp16", "--bf16"), at="calls.0.script_args"),
        Case(script=SCRIPT.replace('"--fp16"', '"--tf32", "true"'), at="calls.0.script_args"),
        Case(script=SCRIPT.replace("--fp16", "--attn_implementation=flash_attention_2"), at="calls.0.script_args"),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("--fp16", "--bf16").replace("t4-small", "l4x1")),
        Case(script=SCRIPT.replace('"--fp16"', '"--bf16", "false"')),
    ),
)
