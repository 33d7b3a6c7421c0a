"""Reward missing where the method needs one, or set where the method ignores it.

## What it does
For grpo and rloo, checks for `rewards` in a job file, and for `reward_funcs` of the trainer in a script. For the
other methods of a job file, checks that there are none.

## Why is this bad
The trainer raises ValueError if it has no reward: "No reward source provided". Before TRL 1.8 the argument was
required. The other trainers do not use rewards: the setting would have no effect, which is hardly what you intend.

## Fix safety
There is no automatic fix: only you know what a good completion is.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import ABSENT, Document
from holdfast.core.job.methods import ONLINE, ONLINE_TRAINERS

FUNCTIONS = "trainer.reward_funcs"


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report rewards that are missing, or that have no effect."""
    if job.kind != "job":
        yield from _script(job, api)
        return
    method, rewards = job.get("method"), job.get("rewards", None)
    if method in ONLINE and not rewards:
        fault = f"{method} has nothing to learn from: name a reward, such as `rewards: [rewards.py:score]`"
        yield Finding("rewards" if rewards is not None else "method", fault)
    elif method not in ONLINE and rewards:
        yield Finding("rewards", f"{method} ignores rewards: only grpo and rloo use them", None, Severity.WARNING)


def _script(job: Document, api: Api) -> Iterator[Finding]:
    trainer = job.call("trainer")
    if (
        trainer is None
        or trainer.package != "trl"
        or trainer.name not in ONLINE_TRAINERS
        or trainer.guard.tolerates("ValueError")
    ):
        return
    rewards = job.get(FUNCTIONS)
    if rewards is ABSENT and since(api, "trl", "1.8.0") and _shows_all(trainer):
        fault = f"{trainer.name} has nothing to learn from: pass `reward_funcs`"
        yield Finding("trainer", fault, place=trainer.name_place)
    elif rewards is not ABSENT and rewards in (None, []) and "environment_factory" not in trainer.arguments:
        yield Finding(FUNCTIONS, f"{trainer.name} has nothing to learn from")


def _shows_all(trainer: Call) -> bool:
    """True if a reward would be seen: by name, as the second by position, or from an environment.

    A misspelt `reward_funcs` is an unknown argument, which another rule reports.
    """
    second = len(trainer.positional) > 1
    given = any(name == "environment_factory" or name.startswith("reward") for name in trainer.arguments)
    return trainer.via == "call" and not trainer.open and not second and not given


JOB = """
method: grpo
model: Qwen/Qwen2.5-0.5B-Instruct
dataset: trl-lib/DeepMath-103K
rewards: [accuracy_reward]
"""
SCRIPT = """
from trl import GRPOConfig, GRPOTrainer
from trl.rewards import accuracy_reward

trainer = GRPOTrainer(
    model="Qwen/Qwen2.5-0.5B", reward_funcs=accuracy_reward, args=GRPOConfig(output_dir="out"), train_dataset=rows
)
"""

RULE = Rule(
    code="RWD101",
    name="missing-reward",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16, the `__init__` of both trainers. Tried with none, with None and with an empty list: ValueError. "
        "trl 0.14 to 1.7 has no default for it: a missing argument, which is another rule's."
    ),
    kinds=ANY_KIND,
    bad=(
        Case(job=JOB.partition("rewards")[0], at="method"),
        Case(job=JOB.replace("grpo", "rloo").replace("[accuracy_reward]", "[]"), at="rewards"),
        Case(job=JOB.replace("grpo", "sft"), at="rewards"),
        Case(script=SCRIPT.replace(" reward_funcs=accuracy_reward,", ""), at="trainer"),
        Case(script=SCRIPT.replace("=accuracy_reward", "=[]"), at=FUNCTIONS),
    ),
    good=(
        Case(job=JOB),
        Case(job=JOB.partition("rewards")[0].replace("grpo", "sft")),
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace('model="Qwen/Qwen2.5-0.5B", reward_funcs=', '"Qwen/Qwen2.5-0.5B", ')),
        Case(script=SCRIPT.replace("reward_funcs=accuracy_reward", "environment_factory=print")),
    ),
)
