"""Reward weights that are all zero.

## What it does
Checks for `reward_weights` that are all 0.

## Why is this bad
Every completion gets the same reward, each advantage is zero, and no step changes the weights, except for the pull
towards the reference model. Nothing raises, and the individual rewards in the log look normal.

## Fix safety
There is no automatic fix: without `reward_weights` each reward counts 1.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.text.numbers import is_number

KEY = "train.reward_weights"


def check(job: Document) -> Iterator[Finding]:
    """Report reward weights that are all zero."""
    weights = job.get(KEY, None)
    if isinstance(weights, list | tuple) and weights and all(is_number(weight) and weight == 0 for weight in weights):
        yield Finding(KEY, "every reward has a weight of 0: nothing is learned")


JOB = """
method: grpo
model: Qwen/Qwen2.5-0.5B-Instruct
dataset: trl-lib/DeepMath-103K
rewards: [accuracy_reward]
train:
  reward_weights: [1.0]
"""
SCRIPT = """
from trl import GRPOConfig, GRPOTrainer
from trl.rewards import accuracy_reward, think_format_reward

args = GRPOConfig(output_dir="out", reward_weights=[1.0, 0.0])
trainer = GRPOTrainer(
    "Qwen/Qwen2.5-0.5B", reward_funcs=[accuracy_reward, think_format_reward], args=args, train_dataset=rows
)
"""

RULE = Rule(
    code="RWD108",
    name="weightless-rewards",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "Tried with trl 1.16 and a tiny model: it trains without a word. That the advantages are zero follows from "
        "the sum that it takes."
    ),
    kinds=ANY_KIND,
    bad=(Case(script=SCRIPT.replace("[1.0", "[0.0"), at=KEY), Case(job=JOB.replace("1.0", "0.0"), at=KEY)),
    good=(Case(script=SCRIPT), Case(job=JOB)),
)
