"""Reward function that does not return a list.

## What it does
Checks the `return` statements of the job's own reward functions. Reports functions in which each returns one number,
a text or a record, or that have none.

## Why is this bad
The trainer calls a reward function with all completions at once, and expects a list with one number for each of them.
A single number, or the None of a function that does not return, raises TypeError, `object is not iterable`, after the
first completions are generated. For a text or a record, the trainer counts letters or keys: ValueError,
`returned 3 rewards, but 2 were expected`.

## Fix safety
There is no automatic fix. Return a list: `return [score(each) for each in completions]`.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from holdfast.catalog.own_rewards import own_rewards
from holdfast.core.check.facts import NamedFile
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.calls import LocalName
from holdfast.core.job.document import Document

SPELLED = {"number": "one number", "nothing": "nothing", "text": "a text", "dict": "a record"}


def check(job: Document, files: Mapping[str, NamedFile]) -> Iterator[Finding]:
    """Report each reward function that does not return a list."""
    for key, function, place in own_rewards(job, files):
        if function.returns in SPELLED:
            what = f"`{function.name}` returns {SPELLED[function.returns]}, and the trainer needs a list with a number for each completion"
            yield Finding(key, what, place=place)


JOB = """
method: grpo
model: Qwen/Qwen2.5-0.5B
dataset: rows.jsonl
rewards: [accuracy_reward, "scores.py:long"]
"""
SCRIPT = """from trl import GRPOConfig, GRPOTrainer


def long(completions, **kwargs):
    scores = [float(len(each)) for each in completions]
    return scores


trainer = GRPOTrainer(model="Qwen/Qwen2.5-0.5B", reward_funcs=[long], args=GRPOConfig(output_dir="out"), train_dataset=rows)
"""


def _facts(returns: Literal["list", "number"]) -> dict[str, object]:
    long = LocalName("long", "function", ("completions",), open=True, returns=returns)
    return {"files": {"scores.py": NamedFile(names=frozenset({"long"}), functions={"long": long})}}


RULE = Rule(
    code="RWD113",
    name="reward-without-a-list",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16, `GRPOTrainer._calculate_rewards` and the same of RLOO. Tried with a tiny model: one number and None raise TypeError in the first "
        "step, a text and a record ValueError; a list trains."
    ),
    bad=(
        Case(job=JOB, facts=_facts("number"), at="rewards.1"),
        Case(script=SCRIPT.replace("    return scores\n", ""), at="trainer.reward_funcs"),
        Case(script=SCRIPT.replace("return scores", "return sum(scores)"), at="trainer.reward_funcs"),
        Case(script=SCRIPT.replace("return scores", "return 1.0 if scores else 0.0"), at="trainer.reward_funcs"),
        Case(script=SCRIPT.replace("return scores", 'return {"long": scores}'), at="trainer.reward_funcs"),
    ),
    good=(
        Case(job=JOB, facts=_facts("list")),
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("return scores", "return torch.tensor(scores).tolist()")),
        Case(script=SCRIPT.replace("    return scores\n", '    raise NotImplementedError("soon")\n')),
        Case(script=SCRIPT.replace("def long", "async def long")),
    ),
    kinds=ANY_KIND,
)
