"""Reward function that the trainer cannot use.

## What it does
With `--rewards`, calls each reward function in a process of its own, as the trainer does, on rows of the data with
sample completions: right if a column holds the answer, wrong, and empty.

## Why is this bad
The trainer calls the function for the first time after the model is loaded and has written completions. A function
that raises then, or that returns anything but a number or None for each completion, ends the training.

## Fix safety
There is no automatic fix. A function gets `prompts`, `completions` and `completion_ids`, every other column of the
data, `trainer_state`, `log_extra` and `log_metric`, all by name: those that it does not use go into `**kwargs`. It
returns a list with one number for each completion; conversations are passed as lists of messages.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.given_rewards import IN_JOB_FILE, reward_key
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, MissingFactError, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import RewardResult


def check(job: Document, rewarded: Sequence[RewardResult]) -> Iterator[Finding]:
    """Report each reward function that the trainer cannot use."""
    named = job.get(IN_JOB_FILE, None)
    for each in rewarded:
        if each.problem:
            yield Finding(reward_key(named, each.name), f"{each.name}: {each.problem}")
    for each in rewarded:
        if each.skipped:
            raise MissingFactError(each.name, each.skipped)


JOB = """
method: grpo
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
rewards: [think_format_reward, rewards.py:correct]
"""
SHORT = "it returns 1 rewards for 12 completions"
RAISES = "it raises KeyError: 'answer' (rewards.py, line 3)"


def _facts(problem: str) -> dict[str, object]:
    fine = RewardResult(name="think_format_reward", rewards=(0.0, 1.0, 0.0))
    return {
        "rewarded": (
            fine,
            RewardResult(name="rewards.py:correct", rewards=() if problem else (1.0, 0.0, 0.0), problem=problem),
        )
    }


RULE = Rule(
    code="RWD109",
    name="unusable-reward",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16, `_calculate_rewards` of `GRPOTrainer` and `RLOOTrainer`. Tried with both and a tiny model: functions that "
        "take too little, ask for a column that is not there, raise, give too few rewards, texts (of numbers too), lists, or "
        "no list at all end the first step with an error; bools, tensors and generators are taken."
    ),
    bad=(
        Case(job=JOB, facts=_facts(SHORT), at="rewards.1"),
        Case(job=JOB, facts=_facts(RAISES), at="rewards.1"),
    ),
    good=(Case(job=JOB, facts=_facts("")),),
    kinds=WITH_ROWS,
)
