"""Reward that is the same for every completion.

## What it does
With `--rewards`, calls each reward function on sample completions, some phrased as answers usually are, including
wrong and empty ones, and checks whether the rewards differ. If the data has no right answers, this is reported as
information, not as a warning: the sample completions may all be equally bad.

## Why is this bad
The model learns from the difference between a completion's reward and its group's mean. If all rewards are the same,
that difference is 0 for each completion, and the model learns nothing from the function.

## Fix safety
There is no automatic fix: check what the function compares, and which form of the answer it expects.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.given_rewards import IN_JOB_FILE, numbers_of, reward_key
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import RewardResult


def check(job: Document, rewarded: Sequence[RewardResult]) -> Iterator[Finding]:
    """Report each reward function that returns the same number for every completion."""
    named = job.get(IN_JOB_FILE, None)
    for each in rewarded:
        numbers = numbers_of(each)
        if len(numbers) > 1 and len(set(numbers)) == 1:
            made = "right, wrong and empty" if each.answered else "wrong and empty"
            message = f"{each.name}: each of {len(numbers)} sample completions, {made} ones, gets {numbers[0]:g}"
            severity = Severity.WARNING if each.answered else Severity.INFO
            yield Finding(reward_key(named, each.name), message, severity=severity)


JOB = """
method: grpo
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
rewards: [rewards.py:correct]
"""


def _gives(*rewards: float | None, answered: bool = True) -> dict[str, object]:
    return {"rewarded": (RewardResult(name="rewards.py:correct", rewards=rewards, answered=answered),)}


RULE = Rule(
    code="RWD112",
    name="constant-reward",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "trl 1.16. Tried with a tiny model: grpo and rloo log `frac_reward_zero_std` 1 and a gradient of 0. Tried on the sample "
        "completions: `think_format_reward` and usual rewards of length, number and format give more than one value."
    ),
    bad=(
        Case(job=JOB, facts=_gives(0.0, 0.0, 0.0), at="rewards.0"),
        Case(job=JOB, facts=_gives(0.0, 0.0, answered=False), at="rewards.0"),
    ),
    good=(
        Case(job=JOB, facts=_gives(1.0, 0.0, 0.0)),
        Case(job=JOB, facts=_gives(1.0)),
        Case(job=JOB, facts=_gives(None, None)),
    ),
    kinds=WITH_ROWS,
)
