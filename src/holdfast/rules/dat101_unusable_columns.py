"""A dataset whose columns the method cannot train on.

## What it does
Compares the columns of the training data, and of the evaluation split, with what the method's trainer reads. For grpo
and rloo also with the names that a reward function gets from the trainer, and with what TRL's own rewards ask for.

## Why is this bad
The trainer prepares the data after the model was loaded, and raises `KeyError: 'text'` or the like; for grpo and rloo
only when the first reward is asked for. A column too many can be as bad: with a `prompt` column, sft reads every row as
prompt and completion, whatever else is there.

## Fix safety
There is no automatic fix. Write a function that gives the columns under the names the trainer knows, and name it in
`dataset.map`: the columns that it returns take the place of the old ones.
"""

from collections.abc import Iterator

from holdfast.catalog.train_arguments import setting
from holdfast.core.document import Document
from holdfast.core.facts import Dataset
from holdfast.core.finding import Case, Finding, MissingFactError, Rule, Severity

Columns = tuple[str, ...]

# For each method, the sets of columns that it can train on; one of them is enough.
USABLE = {
    "dpo": ({"chosen", "rejected"},),
    "reward": ({"chosen", "rejected"}, {"chosen_ids", "rejected_ids"}, {"chosen_input_ids", "rejected_input_ids"}),
    "kto": ({"prompt", "completion", "label"}, {"chosen", "rejected"}),
    "grpo": ({"prompt"},),
    "rloo": ({"prompt"},),
}
GENERATING = ("grpo", "rloo")
# The trainer gives a reward function the prompts and completions under these names; columns come as arguments too.
TAKEN = ("prompts", "completions")
ASKED_FOR = {"accuracy_reward": "solution", "reasoning_accuracy_reward": "solution"}


def check(job: Document, dataset: Dataset) -> Iterator[Finding]:
    """Object to columns that do not do."""
    if dataset.problem:
        return
    for key in ("dataset.map", "train.dataset_kwargs"):
        if job.get(key, None) is not None:
            raise MissingFactError(key, "what the columns are after it is not known before the job runs")
    splits: dict[str, Columns | None] = {"dataset": dataset.columns}
    if job.get("dataset.eval_split", None) is not None:
        splits["dataset.eval_split"] = dataset.eval_columns
    for key, columns in splits.items():
        if columns is not None and (fault := _fault(job, columns)):
            has = ", ".join(columns) or "nothing"
            yield Finding(key, f"{job.get('method')} {fault} (the data has {has}); see `dataset.map`")


def _fault(job: Document, columns: Columns) -> str | None:
    """Return what is wrong with the columns of one split."""
    method = str(job.get("method"))
    if method == "sft":
        return _sft(str(setting(job, "dataset_text_field")), columns)
    ways = USABLE.get(method, ())
    if ways and not any(way.issubset(columns) for way in ways):
        return f"needs {' or '.join(_spell(way) for way in ways[:2])}"
    return _rewarded(job, columns) if method in GENERATING else None


def _sft(text: str, columns: Columns) -> str | None:
    if "input_ids" in columns:
        return None
    if "prompt" in columns:
        return None if "completion" in columns else "reads `prompt` with `completion`, and there is none"
    known = ("messages", "conversations", text)
    return (
        None if any(name in columns for name in known) else f"needs `messages`, `{text}`, or `prompt` and `completion`"
    )


def _rewarded(job: Document, columns: Columns) -> str | None:
    for name in TAKEN:
        if name in columns:
            return f"gives reward functions `{name}` itself, and a column of that name collides with it"
    rewards = job.get("rewards", None)
    for reward, column in ASKED_FOR.items() if isinstance(rewards, list) else ():
        if reward in rewards and column not in columns:
            return f"is to use {reward}, which needs `{column}`"
    return None


def _spell(names: set[str]) -> str:
    return " and ".join(f"`{name}`" for name in sorted(names))


def _job(method: str, more: str = "") -> str:
    return f"\nmethod: {method}\nmodel: Qwen/Qwen2.5-0.5B\ndataset: data.jsonl\n{more}"


def _has(*columns: str) -> dict[str, object]:
    return {"dataset": Dataset(columns=columns)}


MATHS = "rewards: [accuracy_reward]\n"
SPLITS = {"dataset": Dataset(columns=("text", "source"), eval_columns=("source",))}
EVALUATED = _job("sft").replace("data.jsonl", "{path: data, eval_split: test}")

RULE = Rule(
    code="DAT101",
    name="unusable-columns",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16, the trainers' `_prepare_dataset` and `_calculate_rewards`. Tried: 90 sets of columns, one step each on "
        "a tiny model; every example here is among them."
    ),
    bad=(
        Case(job=_job("sft"), facts=_has("instruction", "output"), at="dataset"),
        Case(job=_job("sft"), facts=_has("prompt", "messages"), at="dataset"),
        Case(job=_job("sft", "train: {dataset_text_field: body}\n"), facts=_has("text"), at="dataset"),
        Case(job=_job("dpo"), facts=_has("prompt", "chosen"), at="dataset"),
        Case(job=_job("reward"), facts=_has("messages"), at="dataset"),
        Case(job=_job("kto"), facts=_has("prompt", "completion"), at="dataset"),
        Case(job=_job("grpo"), facts=_has("question", "answer"), at="dataset"),
        Case(job=_job("grpo"), facts=_has("prompt", "completions"), at="dataset"),
        Case(job=_job("rloo", MATHS), facts=_has("prompt", "answer"), at="dataset"),
        Case(job=EVALUATED, facts=SPLITS, at="dataset.eval_split"),
    ),
    good=(
        Case(job=_job("sft"), facts=_has("text")),
        Case(job=_job("sft"), facts=_has("messages", "source")),
        Case(job=_job("sft"), facts=_has("prompt", "completion")),
        Case(job=_job("sft"), facts=_has("conversations")),
        Case(job=_job("dpo"), facts=_has("chosen", "rejected")),
        Case(job=_job("reward"), facts=_has("prompt", "chosen", "rejected")),
        Case(job=_job("kto"), facts=_has("prompt", "completion", "label")),
        Case(job=_job("kto"), facts=_has("chosen", "rejected")),
        Case(job=_job("grpo"), facts=_has("prompt", "answer", "completion")),
        Case(job=_job("rloo", MATHS), facts=_has("prompt", "solution")),
    ),
)
