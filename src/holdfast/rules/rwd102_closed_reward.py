"""Reward function that does not accept all arguments of the trainer.

## What it does
Checks the parameters of each reward function of the job, if it takes no `**kwargs`, against the keywords that this
version of TRL passes to it.

## Why is this bad
The trainer calls each reward with keywords: `prompts`, `completions`, every other column of the dataset, and the
additions of later releases: `completion_ids` (0.18), `trainer_state` (0.20), `log_extra` and `log_metric` (1.0). A
function that does not take them raises TypeError, after the first completions are generated. So does a function with
a parameter `completion` or `prompt`: the trainer does not pass those columns.

## Fix safety
There is no automatic fix here: add `**kwargs` to the function, which also accepts the additions of future releases.
"""

from collections.abc import Iterator, Mapping

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.own_rewards import KEY, own_rewards
from holdfast.core.check.facts import NamedFile
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.calls import LocalName
from holdfast.core.job.document import Document

ALWAYS = ("prompts", "completions")
ADDED = {"0.18.0": ("completion_ids",), "0.20.0": ("trainer_state",), "1.0.0": ("log_extra", "log_metric")}
KEPT_BACK = {"completion": "completions", "prompt": "prompts"}


def check(job: Document, api: Api, files: Mapping[str, NamedFile]) -> Iterator[Finding]:
    """Report each reward function that does not accept all arguments of the trainer."""
    first = "0.22.0" if job.get("method", None) == "rloo" else "0.14.0"
    if "trl" not in api.versions or since(api, "trl", first) is False:
        return  # before, RLOO had another trainer of that name, which called rewards in a different way
    passed = (*ALWAYS, *_added(api))
    for key, function, place in own_rewards(job, files):
        if fault := _fault(function, passed):
            yield Finding(key, fault, place=place)


def _added(api: Api) -> Iterator[str]:
    """Yield the arguments that trainers pass since some later release."""
    return (name for version, names in ADDED.items() if since(api, "trl", version) for name in names)


def _fault(reward: LocalName, passed: tuple[str, ...]) -> str:
    """Return the error that a call of it raises; empty if there is none."""
    for name, plural in KEPT_BACK.items():
        if name in reward.parameters and plural not in reward.parameters:
            return f"{reward.name} takes `{name}`, which no trainer passes; `{plural}` is the list of all of them"
        if name in reward.required:
            return f"{reward.name} needs `{name}`, which no trainer passes, even if the data has it: give the column another name"
    refused = [name for name in passed if name not in reward.parameters]
    if reward.open or not refused:
        return ""
    named = ", ".join(f"`{name}`" for name in refused)
    return f"{reward.name} takes no {named}, which this TRL passes too: add `**kwargs`"


JOB = """
method: grpo
model: Qwen/Qwen2.5-0.5B
dataset: rows.jsonl
rewards: ["scores.py:brief"]
"""
SCRIPT = '''
from trl import GRPOConfig, GRPOTrainer


def brief(completions, **kwargs):
    """Shorter is better."""
    return [-float(len(completion)) for completion in completions]


trainer = GRPOTrainer("Qwen/Qwen2.5-0.5B", reward_funcs=[brief], args=GRPOConfig(output_dir="out"), train_dataset=rows)
'''
CLOSED = SCRIPT.replace("completions, **kwargs", "prompts, completions")


def _facts(*parameters: str, takes_any: bool) -> dict[str, object]:
    brief = LocalName("brief", "function", parameters, open=takes_any)
    return {"files": {"scores.py": NamedFile(names=frozenset({"brief"}), functions={"brief": brief})}}


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
    kinds=ANY_KIND,
    bad=(
        Case(job=JOB, facts=_facts("prompts", "completions", takes_any=False), at="rewards.0"),
        Case(script=CLOSED, at=KEY),
        Case(script=SCRIPT.replace("completions, **kwargs", "completion, **kwargs"), at=KEY),
        Case(script=SCRIPT.replace("completions, **kwargs", "completions, completion, **kwargs"), at=KEY),
        Case(script=CLOSED, versions={"trl": "0.19.1"}, at=KEY),
        Case(script=SCRIPT.replace("[brief]", "lambda completions: [0.0]"), at=KEY),
    ),
    good=(
        Case(job=JOB, facts=_facts("completions", takes_any=True)),
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("completions, **kwargs", "completions, completion=None, **kwargs")),
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
