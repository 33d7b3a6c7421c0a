"""A reward function that refuses some of what the trainer gives it.

## What it does
Compares the parameters of each reward function in the script, if it takes no `**kwargs`, with the keywords that this
version of TRL passes to it.

## Why is this bad
The trainer calls each reward with keywords: `prompts`, `completions`, every other column of the dataset, and what
later releases added: `completion_ids` (0.18), `trainer_state` (0.20), `log_extra` and `log_metric` (1.0). A function
that does not take them raises TypeError, after the first completions were generated. So does one that wants
`completion` or `prompt`: those columns are not handed on.

## Fix safety
There is no automatic fix here: add `**kwargs` to the function, which also survives what releases to come will pass.
"""

from collections.abc import Iterator
from typing import Any

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.core.calls import Call, LocalName
from holdfast.core.document import Document
from holdfast.core.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.methods import ONLINE_TRAINERS

KEY = "trainer.reward_funcs"
ALWAYS = ("prompts", "completions")
ADDED = {"0.18.0": ("completion_ids",), "0.20.0": ("trainer_state",), "1.0.0": ("log_extra", "log_metric")}
KEPT_BACK = {"completion": "completions", "prompt": "prompts"}


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Object to each reward function that will be called with what it does not take."""
    trainer = job.call("trainer")
    if trainer is None or trainer.package != "trl" or trainer.name not in ONLINE_TRAINERS or "trl" not in api.versions:
        return
    if (
        trainer.guard.tolerates("TypeError")
        or since(api, "trl", "0.22.0" if trainer.name == "RLOOTrainer" else "0.14.0") is False
    ):
        return  # RLOO had another trainer of that name before, which called its rewards otherwise
    passed = (*ALWAYS, *(name for version, names in ADDED.items() if since(api, "trl", version) for name in names))
    for reward in _rewards(job, trainer):
        if isinstance(reward, LocalName) and reward.kind == "function" and (fault := _fault(reward, passed)):
            given_at = None if "reward_funcs" in trainer.arguments else trainer.name_place
            yield Finding(KEY, fault, place=reward.place or given_at)


def _rewards(job: Document, trainer: Call) -> list[Any]:
    second = trainer.positional[1] if len(trainer.positional) > 1 else None
    given = job.get(KEY, second)
    return given if isinstance(given, list) else [given]


def _fault(reward: LocalName, passed: tuple[str, ...]) -> str:
    """Return the error that a call of it raises; empty if there is none."""
    for name, plural in KEPT_BACK.items():
        if name in reward.parameters and plural not in reward.parameters:
            return f"{reward.name} takes `{name}`, which no trainer passes; `{plural}` is the list of all of them"
    refused = [name for name in passed if name not in reward.parameters]
    if reward.open or not refused:
        return ""
    named = ", ".join(f"`{name}`" for name in refused)
    return f"{reward.name} takes no {named}, which this TRL passes too: add `**kwargs`"


SCRIPT = '''
from trl import GRPOConfig, GRPOTrainer


def brief(completions, **kwargs):
    """Shorter is better."""
    return [-float(len(completion)) for completion in completions]


trainer = GRPOTrainer("Qwen/Qwen2.5-0.5B", reward_funcs=[brief], args=GRPOConfig(output_dir="out"), train_dataset=rows)
'''
CLOSED = SCRIPT.replace("completions, **kwargs", "prompts, completions")

RULE = Rule(
    code="RWD102",
    name="closed-reward",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 0.14 to 1.16, the call of a reward in each release. Eight functions were given to `GRPOTrainer` 1.16 "
        "with a tiny model and trained one step: TypeError for each that lacks a keyword, for `completion` and for "
        "`prompt`; those with `**kwargs`, or with all of them, train."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=CLOSED, at=KEY),
        Case(script=SCRIPT.replace("completions, **kwargs", "completion, **kwargs"), at=KEY),
        Case(script=CLOSED, versions={"trl": "0.19.1"}, at=KEY),
        Case(script=SCRIPT.replace("[brief]", "lambda completions: [0.0]"), at=KEY),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=CLOSED, versions={"trl": "0.17.0"}),
        Case(
            script=SCRIPT.replace(
                "completions, **kwargs",
                "prompts, completions, completion_ids, trainer_state, log_extra, log_metric, answer",
            )
        ),
        Case(script=SCRIPT.replace("[brief]", '"me/reward-model"')),
    ),
)
