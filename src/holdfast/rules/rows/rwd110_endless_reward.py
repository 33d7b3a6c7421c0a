"""Reward that is infinite.

## What it does
With `--rewards`, calls each reward function on sample completions, and checks for rewards that no 32-bit float can
hold.

## Why is this bad
The advantage of a completion is its reward minus the mean of its group: with an infinite reward in the group it is
NaN. grpo then learns nothing from that group; in rloo the gradient is NaN too, and so are the weights after the step.

## Fix safety
There is no automatic fix: keep divisors, and arguments of logarithms, above 0.
"""

import math
from collections.abc import Iterator, Sequence

from holdfast.catalog.given_rewards import IN_JOB_FILE, reward_key
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import RewardResult


def check(job: Document, rewarded: Sequence[RewardResult]) -> Iterator[Finding]:
    """Report each function that returns an infinite reward."""
    named = job.get(IN_JOB_FILE, None)
    for each in rewarded:
        count = sum(reward is not None and math.isinf(reward) for reward in each.rewards)
        if count:
            message = f"{each.name}: {count} of {len(each.rewards)} sample completions get an infinite reward"
            yield Finding(reward_key(named, each.name), message)


JOB = """
method: grpo
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
rewards: [rewards.py:short]
"""


def _gives(*rewards: float | None) -> dict[str, object]:
    return {"rewarded": (RewardResult(name="rewards.py:short", rewards=rewards),)}


RULE = Rule(
    code="RWD110",
    name="endless-reward",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16. Tried with a tiny model and one infinite reward, or 1e39, in a batch: grpo logs a `reward` of inf and a "
        "`grad_norm` of 0, rloo a `grad_norm` of NaN."
    ),
    bad=(Case(job=JOB, facts=_gives(1.0, -math.inf, 0.5), at="rewards.0"),),
    good=(Case(job=JOB, facts=_gives(1.0, None, 0.5)),),
    kinds=WITH_ROWS,
)
