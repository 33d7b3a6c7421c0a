"""Reward function that scores nothing.

## What it does
With `--rewards`, calls each reward function on sample completions, and checks whether any of them gets a number.

## Why is this bad
None, or NaN which counts as None, means that a function does not apply to a completion. A function that applies to
none adds nothing to any reward; if it is the only one, the model learns nothing.

## Fix safety
There is no automatic fix: check the condition under which the function returns None.
"""

import math
from collections.abc import Iterator, Sequence

from holdfast.catalog.given_rewards import IN_JOB_FILE, numbers_of, reward_key
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import RewardResult


def check(job: Document, rewarded: Sequence[RewardResult]) -> Iterator[Finding]:
    """Report each reward function that returns no number at all."""
    named = job.get(IN_JOB_FILE, None)
    for each in rewarded:
        if each.rewards and not numbers_of(each):
            what = "NaN" if any(reward is not None for reward in each.rewards) else "None"
            message = f"{each.name}: all {len(each.rewards)} sample completions get {what} instead of a number"
            yield Finding(reward_key(named, each.name), message)


JOB = """
method: grpo
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
rewards: [rewards.py:correct]
"""


def _gives(*rewards: float | None) -> dict[str, object]:
    return {"rewarded": (RewardResult(name="rewards.py:correct", rewards=rewards),)}


RULE = Rule(
    code="RWD111",
    name="missing-rewards",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "trl 1.16, `_calculate_rewards`. Tried with a tiny model: with None, and with NaN, for every completion, grpo and rloo "
        "train on with a `reward` of NaN and a `grad_norm` of 0."
    ),
    bad=(
        Case(job=JOB, facts=_gives(None, None, None), at="rewards.0"),
        Case(job=JOB, facts=_gives(math.nan, None, math.nan), at="rewards.0"),
    ),
    good=(Case(job=JOB, facts=_gives(1.0, None, math.nan)),),
    kinds=WITH_ROWS,
)
