"""Two half precisions at once.

## What it does
Checks for `fp16` together with `bf16`, and for `fp16_full_eval` together with `bf16_full_eval`. In a script, the
config class's own checks are run, with the defaults of the versions in use: some of TRL's configs choose bf16 by
default.

## Why is this bad
A step is computed in one precision. The config class raises ValueError for two.

## Fix safety
The fix is unsafe because the job does not show which of the two is meant. bf16 needs no loss scaling, and fp16 runs
on older GPUs.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.arguments import has_edits
from holdfast.catalog.calls.constructions import refusals
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Remove

PAIRS = (("train.bf16", "train.fp16"), ("train.bf16_full_eval", "train.fp16_full_eval"))


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report the second of two half precisions."""
    return _in_job_file(job) if job.kind == "job" else _in_program(job, api)


def _in_job_file(job: Document) -> Iterator[Finding]:
    for brain, half in PAIRS:
        if job.get(brain, default=False) is True and job.get(half, default=False) is True:
            yield Finding(half, f"`{brain}` is true as well, and only one of them can be", _keep(brain, half))


def _in_program(job: Document, api: Api) -> Iterator[Finding]:
    for made, raised in refusals(job, api, "two-precisions"):
        ending = "_full_eval" if "full eval" in raised.message else ""
        brain, half = f"bf16{ending}", f"fp16{ending}"
        editable = has_edits(job, made.call) and {brain, half} <= set(made.call.arguments)
        fix = _keep(brain, f"{made.call.key}.{half}") if editable else None
        message = f"`{made.call.name}` of {made.versions(api)} takes only one of `{brain}` and `{half}`"
        yield Finding(made.key(job, raised), message, fix)


def _keep(brain: str, half: str) -> Fix:
    return Fix(f"keep `{brain}`", (Remove(half),), safe=False)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  bf16: true
"""

SCRIPT = """
from trl import SFTConfig

args = SFTConfig(output_dir="out", bf16=True, fp16=True)
"""

RULE = Rule(
    code="PRC102",
    name="two-precisions",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    kinds=ANY_KIND,
    source="transformers 5.23, `TrainingArguments._validate_args`. Each example was given to `SFTConfig`.",
    bad=(
        Case(job=JOB + "  fp16: true\n", at="train.fp16", fixed=JOB),
        Case(
            job=JOB.replace("bf16", "bf16_full_eval") + "  fp16_full_eval: true\n",
            at="train.fp16_full_eval",
            fixed=JOB.replace("bf16", "bf16_full_eval"),
        ),
        Case(script=SCRIPT, at="calls.0.fp16", fixed=SCRIPT.replace(", fp16=True", "")),
    ),
    good=(
        Case(job=JOB),
        Case(job=JOB + "  fp16: false\n"),
        Case(job=JOB.replace("bf16", "fp16")),
        Case(script=SCRIPT.replace("bf16=True, ", "")),
        Case(script=SCRIPT.replace("fp16=True", "fp16=False")),
    ),
)
