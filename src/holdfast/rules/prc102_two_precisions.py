"""Two half precisions at once.

## What it does
Looks for `fp16` beside `bf16`, and for `fp16_full_eval` beside `bf16_full_eval`.

## Why is this bad
A step is computed in one precision. The config class raises ValueError for two.

## Fix safety
bf16 needs no loss scaling, and fp16 runs on older GPUs: which of them was meant the job does not say. Unsafe.
"""

from collections.abc import Iterator

from holdfast.core.document import Document, Remove
from holdfast.core.finding import Case, Finding, Fix, Rule, Severity

PAIRS = (("train.bf16", "train.fp16"), ("train.bf16_full_eval", "train.fp16_full_eval"))


def check(job: Document) -> Iterator[Finding]:
    """Object to the second of two precisions."""
    for brain, half in PAIRS:
        if job.get(brain, default=False) is True and job.get(half, default=False) is True:
            fix = Fix(f"keep `{brain}`", (Remove(half),), safe=False)
            yield Finding(half, f"`{brain}` is true as well, and only one of them can be", fix)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  bf16: true
"""

RULE = Rule(
    code="PRC102",
    name="two-precisions",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="transformers 5.23, `TrainingArguments._validate_args`. Each example was given to `SFTConfig`.",
    bad=(
        Case(job=JOB + "  fp16: true\n", at="train.fp16", fixed=JOB),
        Case(
            job=JOB.replace("bf16", "bf16_full_eval") + "  fp16_full_eval: true\n",
            at="train.fp16_full_eval",
            fixed=JOB.replace("bf16", "bf16_full_eval"),
        ),
    ),
    good=(Case(job=JOB), Case(job=JOB + "  fp16: false\n"), Case(job=JOB.replace("bf16", "fp16"))),
)
