"""Columns that a reward needs, but that the trainer drops.

## What it does
Checks for `remove_unused_columns=True` in the config of GRPO or RLOO together with a reward function of the script
that takes columns of the dataset by name.

## Why is this bad
The trainer then keeps `prompt` and what the model takes, and drops `answer`, `solution` and the like. It calls the
reward without them: TypeError, "missing 1 required positional argument", at the first step. The default, False, keeps
them.

## Fix safety
The fix is safe: these trainers are made for False.
"""

from collections.abc import Iterator

from holdfast.catalog.given_rewards import given_rewards
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import Call, LocalName
from holdfast.core.job.document import Document, Remove
from holdfast.core.job.methods import ONLINE_TRAINERS

KEY = "train.remove_unused_columns"
PASSED = frozenset(
    {"prompts", "completions", "completion_ids", "trainer_state", "log_extra", "log_metric", "environments"}
    | {"prompt", "image", "images", "tools"}
)


def check(job: Document) -> Iterator[Finding]:
    """Report columns that the trainer drops although a reward function names them."""
    trainer = job.call("trainer")
    if (
        trainer is None
        or trainer.package != "trl"
        or trainer.name not in ONLINE_TRAINERS
        or trainer.guard.tolerates("TypeError")
        or job.get(KEY, None) is not True
    ):
        return
    for reward in _rewards(job, trainer):
        wanted = next((name for name in reward.parameters if name not in PASSED), None)
        if wanted is not None:
            fault = f"{reward.name} needs the column `{wanted}`, which is dropped before it is called"
            yield Finding(KEY, fault, Fix("keep all columns", (Remove(KEY),)))
            return


def _rewards(job: Document, trainer: Call) -> list[LocalName]:
    rewards = given_rewards(job, trainer)
    return [reward for reward in rewards if isinstance(reward, LocalName) and reward.kind == "function"]


SCRIPT = '''
from trl import GRPOConfig, GRPOTrainer


def right(completions, answer, **kwargs):
    """1 for the answer itself."""
    return [float(one == two) for one, two in zip(completions, answer, strict=True)]


args = GRPOConfig(output_dir="out")
trainer = GRPOTrainer("Qwen/Qwen2.5-0.5B", reward_funcs=right, args=args, train_dataset=rows)
'''
DROPPED = SCRIPT.replace('"out"', '"out", remove_unused_columns=True')

RULE = Rule(
    code="RWD105",
    name="dropped-reward-columns",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "Tried with trl 1.16 and a tiny model: TypeError at the first step for a reward with such a parameter, and "
        "none with the default. A parameter may have a default of its own, which the script's reader does not tell:"
        " a warning."
    ),
    kinds=PROGRAMS,
    bad=(Case(script=DROPPED, at=KEY, fixed=SCRIPT),),
    good=(
        Case(script=SCRIPT),
        Case(script=DROPPED.replace("completions, answer", "prompts, completions")),
    ),
)
