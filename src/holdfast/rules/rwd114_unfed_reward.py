"""Reward function with a parameter that the trainer does not pass.

## What it does
For GRPO and RLOO, checks the parameters without a default of each reward function against what the trainer passes:
`prompts`, `completions`, `completion_ids`, `trainer_state`, `log_extra`, `log_metric`, and each other column of the
data by its name. Skips data whose columns are unknown, as after a `map` whose function returns no literal dict.

## Why is this bad
The first step ends with TypeError, "missing 1 required positional argument", after the model is loaded and has
written completions.

## Fix safety
There is no automatic fix: rename the parameter or the column, or give the parameter a default.
"""

from collections.abc import Iterator, Mapping
from itertools import filterfalse

from holdfast.catalog.own_rewards import own_rewards
from holdfast.core.check.facts import NamedFile
from holdfast.core.check.finding import ANY_KIND, Case, Finding, MissingFactError, Rule, Severity
from holdfast.core.job.calls import LocalName
from holdfast.core.job.document import Document, Unknown
from holdfast.core.text.nearest import nearest

PASSED = ("prompts", "completions", "completion_ids", "trainer_state", "log_extra", "log_metric", "environments")
KEPT_BACK = frozenset({"prompt", "completion", "completion_ids"})
"""Columns that are passed under another name; RWD102 reports functions that need them."""
NOT_FROM_COLUMNS = KEPT_BACK.union(PASSED)
REMADE = ("train.remove_unused_columns", "trainer.environment_factory", "trainer.rollout_func")


def check(job: Document, files: Mapping[str, NamedFile], columns: tuple[str, ...] | Unknown) -> Iterator[Finding]:
    """Report each parameter that no column provides."""
    for key, function, place in own_rewards(job, files):
        wanted = [each for each in function.required if each not in NOT_FROM_COLUMNS]
        if not wanted:
            continue
        _require_plain(job)
        if isinstance(columns, Unknown):
            raise MissingFactError("columns", columns.because)
        if unfed := next(filterfalse(columns.__contains__, wanted), None):
            yield Finding(key, _fault(function, unfed, columns), place=place)


def _fault(function: LocalName, unfed: str, columns: tuple[str, ...]) -> str:
    near = nearest(unfed, columns)
    hint = f"; did you mean `{near}`?" if near else ""
    has = ", ".join(columns)
    return f"`{function.name}` needs `{unfed}`, but the data has no such column (it has {has}){hint}"


def _require_plain(job: Document) -> None:
    """Check that the job trains on the columns of its data.

    Raises:
        MissingFactError: It makes other columns of them.
    """
    keys = ("dataset.map", *REMADE) if job.kind == "job" else REMADE  # a script's columns are those after its `map`
    for key in keys:
        if job.get(key, None):
            raise MissingFactError(key, f"what the columns are after `{key}` is not known before the job runs")


JOB = """
method: grpo
model: Qwen/Qwen2.5-0.5B
dataset: rows.jsonl
rewards: [accuracy_reward, "scores.py:right"]
"""
SCRIPT = '''
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer


def right(completions, solution, scale=1, **kwargs):
    """1 for the answer itself."""
    return [scale * float(one == two) for one, two in zip(completions, solution, strict=True)]


trainer = GRPOTrainer(
    "Qwen/Qwen2.5-0.5B",
    reward_funcs=[right],
    args=GRPOConfig(output_dir="out"),
    train_dataset=load_dataset("json", data_files="rows.jsonl", split="train"),
)
'''


WRITTEN = SCRIPT.replace(
    'load_dataset("json", data_files="rows.jsonl", split="train")',
    'Dataset.from_list([{"prompt": "1+1?", "solution": "2"}])',
).replace("load_dataset", "Dataset")


def _facts(*columns: str) -> dict[str, object]:
    right = LocalName("right", "function", ("completions", "solution"), open=True, required=("completions", "solution"))
    file = NamedFile(names=frozenset({"right"}), functions={"right": right})
    return {"files": {"scores.py": file}, "columns": ("prompt", *columns)}


RULE = Rule(
    code="RWD114",
    name="unfed-reward",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        'trl 1.16, `_calculate_rewards` of GRPO and RLOO: all is passed by name. Run with a tiny model: TypeError, "missing 1 '
        "required positional argument: 'solution'\", at the first step."
    ),
    bad=(
        Case(job=JOB, facts=_facts("answer"), at="rewards.1"),
        Case(script=SCRIPT, facts=_facts("answer"), at="trainer.reward_funcs"),
        Case(script=WRITTEN, facts=_facts("answer"), at="trainer.reward_funcs"),
    ),
    good=(
        Case(job=JOB, facts=_facts("solution")),
        Case(script=SCRIPT, facts=_facts("solution")),
        Case(script=SCRIPT.replace("solution,", "answer,"), facts=_facts("answer")),
        Case(script=SCRIPT.replace("solution, scale", "solution=None, scale"), facts=_facts("answer")),
        Case(job=JOB.replace("grpo", "sft"), facts=_facts("answer")),
    ),
    kinds=ANY_KIND,
)
