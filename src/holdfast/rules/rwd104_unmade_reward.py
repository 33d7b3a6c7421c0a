"""Reward factory passed without being called.

## What it does
Checks `reward_funcs` for TRL's functions whose name begins with `get_`, passed without being called.

## Why is this bad
`get_soft_overlong_punishment(…)` and similar functions return the reward. If the function itself is passed, the
trainer calls it as a reward, and it raises TypeError: "got an unexpected keyword argument 'prompts'", after the first
completions are generated.

## Fix safety
There is no automatic fix: call it with the lengths or weights that you want.
"""

from collections.abc import Iterator
from typing import Any

from holdfast.catalog.given_rewards import given_rewards, rewards_place
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import LibraryName
from holdfast.core.job.document import Document

KEY = "trainer.reward_funcs"
MAKERS = frozenset({"get_soft_overlong_punishment", "get_cosine_scaled_reward", "get_repetition_penalty_reward"})


def check(job: Document) -> Iterator[Finding]:
    """Report each reward factory that is not called."""
    trainer = job.call("trainer")
    if trainer is None or trainer.package != "trl" or trainer.guard.tolerates("TypeError"):
        return
    if name := next(filter(None, map(_factory, given_rewards(job, trainer))), ""):
        fault = f"`{name}` is a factory of reward functions: call it, as in `{name}(…)`"
        yield Finding(KEY, fault, place=rewards_place(trainer))


def _factory(reward: Any) -> str:
    """Return the name of a factory of TRL's; empty for any other reward."""
    ours = isinstance(reward, LibraryName) and reward.path.startswith("trl.")
    name = reward.path.rpartition(".")[2] if ours else ""
    return name if name in MAKERS else ""


SCRIPT = """
from trl import GRPOConfig, GRPOTrainer
from trl.rewards import get_soft_overlong_punishment

trainer = GRPOTrainer(
    "Qwen/Qwen2.5-0.5B",
    reward_funcs=[get_soft_overlong_punishment(max_completion_len=512, soft_punish_cache=64)],
    args=GRPOConfig(output_dir="out"),
    train_dataset=rows,
)
"""
UNMADE = SCRIPT.replace("(max_completion_len=512, soft_punish_cache=64)", "")

RULE = Rule(
    code="RWD104",
    name="unmade-reward",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 0.22 to 1.16, `trl.rewards`. Each of the three was given to `GRPOTrainer` 1.16 as it is, with a tiny "
        "model: TypeError at the first step."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=UNMADE, at=KEY),
        Case(script=UNMADE.replace("[get_soft_overlong_punishment]", "get_soft_overlong_punishment"), at=KEY),
    ),
    good=(Case(script=SCRIPT),),
)
