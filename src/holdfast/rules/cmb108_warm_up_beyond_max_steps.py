"""Warm-up that is as long as the training, or longer.

## What it does
Checks `warmup_steps` against `max_steps`, where both are given. Ignores a number below 1, which is a fraction of the
steps.

## Why is this bad
The learning rate rises during the whole training and never reaches `learning_rate`: with 10000 steps of warm-up, 5
steps reach 0.04 % of it. The model learns next to nothing, and no message says so.

## Fix safety
The fix is not safe: it warms up for a tenth of all steps, which is a different training.
"""

from collections.abc import Iterator
from typing import Any, TypeGuard

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.calls.schedules import OWN, WITHOUT_WARMUP
from holdfast.catalog.calls.train_arguments import setting
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set
from holdfast.core.text.numbers import is_number

KEY, STEPS = "train.warmup_steps", "train.max_steps"
SHARES = "5.0.0"
"""From this release of transformers on, `warmup_steps` may be a share."""


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report a warm-up that lasts as long as the training, or longer."""
    warmup, steps = job.get(KEY, None), job.get(STEPS, None)
    if not _is_count(warmup) or not _is_count(steps) or warmup < steps:
        return
    own = job.get("trainer.optimizers", None) is not None or any(each in job.text for each in OWN)
    schedule = setting(job, "lr_scheduler_type", api)
    if own or not isinstance(schedule, str) or schedule in WITHOUT_WARMUP:
        return
    fix = Fix("warm up for a tenth of all steps", (Set(KEY, 0.1),), safe=False)
    made = f"{steps:g} step{'s' * (steps != 1)}"
    fault = f"the training makes {made}, and the warm-up takes {warmup:g}: the rate never reaches `learning_rate`"
    yield Finding(KEY, fault, fix if since(api, "transformers", SHARES) else None)


def _is_count(value: Any) -> TypeGuard[float]:
    return is_number(value) and value >= 1


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  max_steps: 5
  warmup_steps: 10000
"""
SCRIPT = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", max_steps=50, warmup_steps=100)
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""

RULE = Rule(
    code="CMB108",
    name="warm-up-beyond-max-steps",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "transformers 5.23, `get_warmup_steps`: a number from 1 on is steps, below 1 a share of them. Tried with trl 1.16: with 100 steps of warm-up, "
        "3 steps log 0, 1 and 2 % of the learning rate, for eight schedules; `constant` has none."
    ),
    bad=(
        Case(job=JOB, at=KEY, fixed=JOB.replace("10000", "0.1")),
        Case(script=SCRIPT, at=KEY, fixed=SCRIPT.replace("warmup_steps=100", "warmup_steps=0.1")),
    ),
    good=(
        Case(job=JOB.replace("10000", "1")),
        Case(job=JOB.replace("10000", "0.5")),
        Case(job=JOB.replace("max_steps: 5", "max_steps: -1")),
        Case(job=JOB + "  lr_scheduler_type: constant\n"),
        Case(script=SCRIPT.replace("=rows", "=rows, optimizers=(optimizer, schedule)")),
    ),
    kinds=ANY_KIND,
)
