"""Warm-up that is longer than the training.

## What it does
Checks `warmup_steps` against the number of optimizer steps that the rows make.

## Why is this bad
The learning rate rises during the whole training and never reaches `learning_rate`. The model silently learns less
than intended. Packing and a larger batch make fewer steps than you might expect.

## Fix safety
The fix is not safe: it warms up for a tenth of all steps, which is a different training.
"""

from collections.abc import Iterator

from holdfast.catalog.calls.schedules import WITHOUT_WARMUP
from holdfast.catalog.calls.train_arguments import setting
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set
from holdfast.core.rows.scan import Lengths, Tokens

KEY = "train.warmup_steps"
STEPS = "train.max_steps"


def check(job: Document, tokens: Tokens) -> Iterator[Finding]:
    """Report a warm-up that is longer than the training."""
    steps, warmup = tokens.steps, job.get(KEY, None)
    if job.get(STEPS, -1) not in (None, -1):
        return  # CMB108 reports these without the rows
    if not steps or isinstance(warmup, bool) or not isinstance(warmup, int | float):
        return
    if warmup >= max(steps, 1) and warmup >= 1 and setting(job, "lr_scheduler_type") not in WITHOUT_WARMUP:
        peak = f"the rate reaches at most {100 * (steps - 1) / warmup:.0f} % of `learning_rate`"
        fix = Fix("warm up for a tenth of all steps", (Set(KEY, 0.1),), safe=False)
        yield Finding(
            KEY, f"the training makes {steps} step{'s' * (steps != 1)}, and the warm-up takes {warmup:g}: {peak}", fix
        )


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
train:
  warmup_steps: 100
"""


def _makes(steps: int | None) -> dict[str, object]:
    return {"tokens": Tokens(rows=40, lengths=Lengths(p50=30, p95=70, max=120, mean=33.0), steps=steps)}


RULE = Rule(
    code="DAT240",
    name="unending-warm-up",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "transformers 5.23, `get_warmup_steps`: a number from 1 on is steps, below 1 a share of them. Tried with trl 1.16: "
        "with 100 steps of warm-up, 3 steps log 0, 1 and 2 % of the learning rate, for eight schedules; `constant` has none."
    ),
    bad=(Case(job=JOB, facts=_makes(15), at=KEY, fixed=JOB.replace("100", "0.1")),),
    good=(
        Case(job=JOB, facts=_makes(1500)),
        Case(job=JOB, facts=_makes(None)),
        Case(job=JOB.replace("100", "0.1"), facts=_makes(5)),
        Case(job=JOB + "  max_steps: 15\n", facts=_makes(15)),
        Case(job=JOB + "  lr_scheduler_type: constant\n", facts=_makes(5)),
    ),
    kinds=WITH_ROWS,
)
