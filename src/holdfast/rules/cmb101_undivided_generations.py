"""Batch of completions that is not a multiple of `num_generations`.

## What it does
For grpo and rloo, checks whether the number of completions generated at once, on all processes together, is a
multiple of `num_generations`; likewise for evaluation. Also checks for fewer than 2 generations, and for both
`generation_batch_size` and `steps_per_generation`.

## Why is this bad
An advantage compares the completions of one prompt with each other, so each batch must hold whole groups. Otherwise
the config class raises ValueError: after the imports, on every process. The defaults are 8 generations for grpo and 2
for rloo.

## Fix safety
The fix is unsafe because it takes more memory. It raises `steps_per_generation`, which generates more completions at
once and trains on them over more steps, or the evaluation batch size.
"""

from collections.abc import Iterator
from math import gcd
from typing import Any, TypeGuard

from holdfast.catalog.api import Api
from holdfast.catalog.calls.train_arguments import makes_groups, setting
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import ABSENT, Document, Remove, Set

BATCH, GENERATIONS = "train.per_device_train_batch_size", "train.num_generations"
FEWEST = 2  # one completion alone has no advantage over another


def check(job: Document, processes: int, api: Api) -> Iterator[Finding]:
    """Report each batch that is not a multiple of `num_generations`."""
    if not makes_groups(job, api):
        return
    yield from _two_sizes(job, api)
    generations = setting(job, "num_generations", api)
    if not isinstance(generations, int):
        return
    if generations < FEWEST:
        yield Finding(
            GENERATIONS, f"`num_generations` is {generations}: advantages need at least {FEWEST} for each prompt"
        )
        return
    yield from _training(job, generations, processes, api)
    yield from _evaluation(job, generations, processes, api)


def _two_sizes(job: Document, api: Api) -> Iterator[Finding]:
    if all(setting(job, name, api) is not None for name in ("generation_batch_size", "steps_per_generation")):
        fix = Fix("keep `generation_batch_size`", (Remove("train.steps_per_generation"),), safe=False)
        yield Finding("train.steps_per_generation", "it cannot be set beside `generation_batch_size`", fix)


def _training(job: Document, generations: int, processes: int, api: Api) -> Iterator[Finding]:
    batch, whole = setting(job, "per_device_train_batch_size", api), setting(job, "generation_batch_size", api)
    steps = setting(job, "steps_per_generation", api)
    if not _is_count(batch):
        return
    once = batch * processes
    if _is_count(whole):
        if steps is None and (whole % once or whole % generations):
            fault = f"{whole} completions per generation are not divisible by the {once} of a step and by the {generations} of `num_generations`"
            yield Finding("train.generation_batch_size", fault)
    else:
        yield from _steps(job, steps or setting(job, "gradient_accumulation_steps", api), once, generations)


def _steps(job: Document, steps: Any, once: int, generations: int) -> Iterator[Finding]:
    if not _is_count(steps) or once * steps % generations == 0:
        return
    least = generations // gcd(once, generations)
    fix = Fix(f"generate for {least} steps at once", (Set("train.steps_per_generation", least),), safe=False)
    made = f"{steps} step{'s' * (steps != 1)}"
    fault = f"{once} completions a step x {made} = {once * steps}, not a multiple of {generations} generations"
    yield Finding(_written(job, BATCH, GENERATIONS), fault, fix)


def _evaluation(job: Document, generations: int, processes: int, api: Api) -> Iterator[Finding]:
    named = (job.get("dataset.eval_split", None), job.get("dataset.eval_fraction", None)) != (None, None)
    if job.get("train.eval_strategy", "steps" if named else "no") == "no":  # left open, holdfast evaluates by steps
        return
    batch, wanted = (
        setting(job, "per_device_eval_batch_size", api),
        setting(job, "num_generations_eval", api) or generations,
    )
    if not _is_count(batch) or not _is_count(wanted) or batch * processes % wanted == 0:
        return
    key = "train.per_device_eval_batch_size"
    least = -(-batch // wanted) * wanted
    fault = f"evaluation: {batch} completions x {processes} process{'es' * (processes != 1)}, not a multiple of {wanted} generations"
    fix = Fix(f"evaluate {least} at once", (Set(key, least),), safe=False)
    yield Finding(_written(job, key, "train.num_generations_eval", GENERATIONS), fault, fix)


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and value > 0


def _written(job: Document, *keys: str) -> str:
    """Return the first key that the job writes, or the first."""
    return next((key for key in keys if job.get(key) is not ABSENT), keys[0])


JOB = """
method: grpo
model: Qwen/Qwen2.5-0.5B-Instruct
dataset: trl-lib/DeepMath-103K
rewards: [accuracy_reward]
train:
  per_device_train_batch_size: 4
"""
EVALUATED = (
    JOB.replace("4", "8").replace("dataset: trl-lib/DeepMath-103K", "dataset: {path: data.jsonl, eval_split: test}")
    + "  per_device_eval_batch_size: 6\n"
)
BOTH = JOB + "  generation_batch_size: 16\n  steps_per_generation: 4\n"

RULE = Rule(
    code="CMB101",
    name="undivided-generations",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16, `GRPOConfig.__post_init__` and `RLOOConfig.__post_init__`. Each example for one process, and 24 other "
        "combinations, were given to both classes: ValueError where the rule objects."
    ),
    bad=(
        Case(job=JOB, facts={"processes": 1}, at=BATCH, fixed=JOB + "  steps_per_generation: 2\n"),
        Case(
            job=JOB.replace("4", "1") + "  gradient_accumulation_steps: 2\n",
            facts={"processes": 2},
            at=BATCH,
            fixed=JOB.replace("4", "1") + "  gradient_accumulation_steps: 2\n  steps_per_generation: 4\n",
        ),
        Case(job=JOB.replace("grpo", "rloo") + "  num_generations: 1\n", facts={"processes": 1}, at=GENERATIONS),
        Case(
            job=EVALUATED,
            facts={"processes": 1},
            at="train.per_device_eval_batch_size",
            fixed=EVALUATED.replace(": 6", ": 8"),
        ),
        Case(
            job=BOTH,
            facts={"processes": 1},
            at="train.steps_per_generation",
            fixed=BOTH.replace("  steps_per_generation: 4\n", ""),
        ),
    ),
    good=(
        Case(job=JOB, facts={"processes": 2}),
        Case(job=JOB + "  gradient_accumulation_steps: 4\n", facts={"processes": 1}),
        Case(job=JOB.replace("grpo", "rloo"), facts={"processes": 1}),
        Case(job=JOB + "  generation_batch_size: 16\n", facts={"processes": 1}),
        Case(job=EVALUATED + "  eval_strategy: 'no'\n", facts={"processes": 1}),
        Case(job=JOB.replace("grpo", "sft"), facts={"processes": 1}),
    ),
    kinds=ANY_KIND,
)
