"""Number of reward weights that differs from the number of rewards.

## What it does
For GRPO and RLOO, checks the length of `reward_weights` against the number of rewards: `rewards` of a job file,
`reward_funcs` of a trainer.

## Why is this bad
The trainer raises ValueError when it is built: "Number of reward weights must match number of reward functions". By
then the model is loaded.

## Fix safety
There is no automatic fix: only you know the weight of each reward.
"""

from collections.abc import Iterator

from holdfast.catalog.given_rewards import given_rewards
from holdfast.catalog.models.base_models import trainer_of_trl
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.job.methods import ONLINE, ONLINE_TRAINERS

KEY = "train.reward_weights"


def check(job: Document) -> Iterator[Finding]:
    """Report weights that are more or fewer than the rewards."""
    weights = job.get(KEY, None)
    if not isinstance(weights, list | tuple) or (count := _reward_count(job)) in (None, len(weights)):
        return
    given = f"{len(weights)} weight{'s' * (len(weights) != 1)} for {count} reward{'s' * (count != 1)}"
    yield Finding(KEY, f"{given}: give each reward one weight, or leave `reward_weights` out")


def _reward_count(job: Document) -> int | None:
    """Return the number of rewards; None if nothing says it."""
    return _count_in_job_file(job) if job.kind == "job" else _count_in_program(job)


def _count_in_job_file(job: Document) -> int | None:
    rewards = job.get("rewards", None)
    return len(rewards) if isinstance(rewards, list) and job.get("method") in ONLINE else None


def _count_in_program(job: Document) -> int | None:
    trainer = trainer_of_trl(job)
    if trainer is None or trainer.name not in ONLINE_TRAINERS:
        return None
    if "environment_factory" in trainer.arguments:  # it may add a reward of its own
        return None
    given = given_rewards(job, trainer)
    # TRL takes a tuple for one reward, which it cannot call, whatever the weights.
    return None if any(isinstance(each, tuple | None) for each in given) else len(given)


JOB = """
method: grpo
model: Qwen/Qwen2.5-0.5B-Instruct
dataset: trl-lib/DeepMath-103K
rewards: [accuracy_reward, think_format_reward]
train:
  reward_weights: [1.0, 0.5]
"""
SCRIPT = """
from trl import GRPOConfig, GRPOTrainer
from trl.rewards import accuracy_reward, think_format_reward

args = GRPOConfig(output_dir="out", reward_weights=[1.0, 0.5])
trainer = GRPOTrainer(
    "Qwen/Qwen2.5-0.5B", reward_funcs=[accuracy_reward, think_format_reward], args=args, train_dataset=rows
)
"""

RULE = Rule(
    code="RWD115",
    name="unmatched-reward-weights",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16, the `__init__` of both trainers. Tried with a job file and a tiny model: ValueError, `Number of reward weights (1) "
        "must match number of reward functions (2)`."
    ),
    kinds=ANY_KIND,
    bad=(
        Case(job=JOB.replace(", 0.5", ""), at=KEY),
        Case(job=JOB.replace("grpo", "rloo").replace(", think_format_reward", ""), at=KEY),
        Case(script=SCRIPT.replace("1.0, 0.5", "1.0, 0.5, 0.1"), at=KEY),
        Case(script=SCRIPT.replace("[accuracy_reward, think_format_reward]", "accuracy_reward"), at=KEY),
    ),
    good=(
        Case(job=JOB),
        Case(job=JOB.partition("train:")[0]),
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("[accuracy_reward, think_format_reward]", "rewards")),
    ),
)
