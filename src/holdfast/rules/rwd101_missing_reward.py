"""A method that learns from rewards, without a reward; or rewards that nobody asks for.

## What it does
For grpo and rloo, looks for `rewards`. For the other methods, looks whether there are any.

## Why is this bad
The trainer raises ValueError where nothing tells it what is good. The other trainers know no rewards: what stands there
would have no effect, which is hardly what was meant.

## Fix safety
There is no automatic fix: what is good only the user knows.
"""

from collections.abc import Iterator

from holdfast.core.document import Document
from holdfast.core.finding import Case, Finding, Rule, Severity

METHODS = ("grpo", "rloo")


def check(job: Document) -> Iterator[Finding]:
    """Object to rewards that are missing, and to those without effect."""
    method, rewards = job.get("method"), job.get("rewards", None)
    if method in METHODS and not rewards:
        fault = f"{method} has nothing to learn from: name a reward, such as `rewards: [rewards.py:score]`"
        yield Finding("rewards" if rewards is not None else "method", fault)
    elif method not in METHODS and rewards:
        yield Finding(
            "rewards", f"{method} takes no notice of rewards: they are for grpo and rloo", None, Severity.WARNING
        )


JOB = """
method: grpo
model: Qwen/Qwen2.5-0.5B-Instruct
dataset: trl-lib/DeepMath-103K
rewards: [accuracy_reward]
"""

RULE = Rule(
    code="RWD101",
    name="missing-reward",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="trl 1.16, the `__init__` of both trainers. Tried with none and with an empty list: ValueError.",
    bad=(
        Case(job=JOB.partition("rewards")[0], at="method"),
        Case(job=JOB.replace("grpo", "rloo").replace("[accuracy_reward]", "[]"), at="rewards"),
        Case(job=JOB.replace("grpo", "sft"), at="rewards"),
    ),
    good=(Case(job=JOB), Case(job=JOB.partition("rewards")[0].replace("grpo", "sft"))),
)
