"""Dataset whose columns the method cannot train on.

## What it does
Checks the columns of the training data and of the evaluation split against those that the method's trainer reads:
their names and, where known, their types, since a text `prompt` does not go with answers that are messages. For grpo
and rloo, also checks the columns that a reward function takes, including TRL's own rewards.

## Why is this bad
The trainer prepares the data after the model is loaded, and raises `KeyError: 'text'` or a similar error; for grpo
and rloo, only when it computes the first reward. An extra column can do as much harm: with a `prompt` column, sft
reads every row as prompt and completion, whatever other columns there are. Some datasets train in one process and
fail in the next: TRL decides by one of their columns whether rows are conversations, and which column that is varies
at random. `assistant_only_loss` needs rows that are messages from the start: the trainer checks them before a
`formatting_func` or a collator runs.

## Fix safety
There is no automatic fix. Write a function that returns the columns under the names that the trainer knows. In a job
file, name it in `dataset.map`: the returned columns replace the old ones. In a script, pass it to `map`, or rename
the columns.
"""

from collections.abc import Iterable, Iterator, Mapping

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.calls.own_trainers import changes_steps_alone
from holdfast.catalog.calls.train_arguments import setting
from holdfast.catalog.formats import ColumnSettings, holds_no_messages, judge, recognise
from holdfast.catalog.formats.preparing import PREPARING
from holdfast.catalog.models.base_models import path_of, trainer_of_trl
from holdfast.core.check.facts import Dataset
from holdfast.core.check.finding import ANY_KIND, Case, Finding, MissingFactError, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.job.methods import Method
from holdfast.core.rows.columns import STRING, ListOf, Scalar, Struct, Type

ColumnTypes = Mapping[str, Type | None]
TRIED = "1.8.0"
ONLY = "train.assistant_only_loss"
PROGRAM = ("trainer.train_dataset", "trainer.eval_dataset")
CONVERT = "; convert them with `dataset.map`: `holdfast inspect` writes the function if it recognizes the columns"
PARTS = {"job": ("dataset", "dataset.eval_split"), "command": ("train.dataset_name", "train.dataset_test_split")}
"""Keys of the data that is trained on and evaluated on, by kind; of a script `PROGRAM`."""
REMADE = {"job": ("dataset.map", "train.dataset_kwargs"), "command": ("train.dataset_kwargs", "train.datasets")}
"""Keys of the settings with which the columns are not read as they are, likewise."""


def check(job: Document, api: Api, dataset: Dataset) -> Iterator[Finding]:
    """Report columns that the method cannot train on."""
    method = job.get("method", None)
    if method not in tuple(Method):
        return
    if job.kind != "job":
        _require_usual(job, api)
    settings = _settings(job, api)
    if settings.assistant_only_loss and _is_remade(job) and holds_no_messages(_columns(dataset)):
        has = _listed(dataset.columns)
        yield Finding(ONLY, f"`assistant_only_loss` needs messages before the data is prepared (the data has {has})")
    else:
        yield from _unusable(job, method, settings, dataset)


def _unusable(job: Document, method: Method, settings: ColumnSettings, dataset: Dataset) -> Iterator[Finding]:
    how = CONVERT if job.kind == "job" else ""
    for key, columns in _splits(job, dataset).items():
        readiness = judge(method, columns, recognise(columns, settings=settings), settings)
        if not readiness.ready:
            has = _listed(columns)
            yield Finding(key, f"{method} cannot train on it: {readiness.because} (the data has {has}){how}")


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(columns) or "nothing"


def _is_remade(job: Document) -> bool:
    """True if code of the program's own reads the rows after the trainer has checked their columns."""
    if job.get("dataset.map", None) is not None:
        return False
    try:
        return any(job.get(key, None) is not None for key in REMADE.get(job.kind, PREPARING))
    except MissingFactError:
        return True


def _columns(dataset: Dataset) -> ColumnTypes:
    return {name: dataset.types.get(name) for name in dataset.readable().columns}


def _splits(job: Document, dataset: Dataset) -> Mapping[str, ColumnTypes]:
    """Return the columns of what is trained on and of what is evaluated on, by the key that names it.

    Raises:
        MissingFactError: The job makes others of them, or the data cannot be read.
    """
    for key in REMADE.get(job.kind, PREPARING):
        if job.get(key, None) is not None:
            raise MissingFactError(key, f"what the columns are after `{key}` is not known before the job runs")
    train, evaluated = PARTS.get(job.kind, PROGRAM)
    if job.get(train, None) is None:
        return {}
    splits: dict[str, ColumnTypes] = {train: _columns(dataset)}
    if job.get(evaluated, None) is not None and dataset.eval_columns is not None:
        # Types are known of the split that is trained on alone.
        splits[evaluated] = dict.fromkeys(dataset.eval_columns)
    return splits


def _require_usual(job: Document, api: Api) -> None:
    """Check that a program's trainer is TRL's own, of a release that was tried.

    Raises:
        MissingFactError: It is not, and may read other columns.
    """
    if not since(api, "trl", TRIED):
        raise MissingFactError("trl", f"which columns its trainers read is known from trl {TRIED} on")
    trainer = job.call("train") if job.kind == "command" else trainer_of_trl(job)
    if trainer is None or trainer.open or _prepares_rows(job):
        raise MissingFactError("trainer", "which columns its trainer reads is not known")


def _prepares_rows(job: Document) -> bool:
    """True if a class of the program's own has methods of a trainer of TRL that may read other columns."""
    return any(each.path.startswith("trl.") and not changes_steps_alone(each) for each in job.overrides)


def _settings(job: Document, api: Api) -> ColumnSettings:
    """Return the job's settings for the columns that its trainer reads."""
    if job.get("method") != "sft":
        return ColumnSettings(rewards=tuple(_rewards(job)))
    only = setting(job, "assistant_only_loss", api) is True
    return ColumnSettings(text_field=str(setting(job, "dataset_text_field", api)), assistant_only_loss=only)


def _rewards(job: Document) -> Iterator[str]:
    """Yield the names of TRL's own rewards that a job uses."""
    given = job.get("rewards" if job.kind == "job" else "trainer.reward_funcs", None)
    for reward in given if isinstance(given, list) else [given]:
        name = path_of(reward).rpartition(".")[2] if job.kind != "job" else reward
        if isinstance(name, str) and name:
            yield name


def _job(method: str, more: str = "") -> str:
    return f"\nmethod: {method}\nmodel: Qwen/Qwen2.5-0.5B\ndataset: data.jsonl\n{more}"


def _has(*columns: str) -> dict[str, object]:
    return {"dataset": Dataset(columns=columns)}


def _typed(**types: Type) -> dict[str, object]:
    return {"dataset": Dataset(columns=tuple(types), types=types)}


CHAT = ListOf(Struct({"role": STRING, "content": STRING}))
SHARED = ListOf(Struct({"from": STRING, "value": STRING}))


SCRIPT = """from datasets import load_dataset
from trl import DPOConfig, DPOTrainer

rows = load_dataset("json", data_files="rows.jsonl", split="train")
trainer = DPOTrainer(model="acme/chat", args=DPOConfig(output_dir="out"), train_dataset=rows)
"""
FORMATTED = """from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

rows = load_dataset("json", data_files="rows.jsonl", split="train")
args = SFTConfig("out", assistant_only_loss=True)
trainer = SFTTrainer("acme/chat", args=args, train_dataset=rows, formatting_func=to_text)
"""
WEIGHTED = """from datasets import load_dataset
from trl import DPOConfig, DPOTrainer


class Weighted(DPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        return super().compute_loss(model, inputs, return_outputs, **kwargs)


rows = load_dataset("json", data_files="rows.jsonl", split="train")
trainer = Weighted(model="acme/chat", args=DPOConfig(output_dir="out"), train_dataset=rows)
"""
REWARDED = """from datasets import load_dataset
from trl import GRPOTrainer

rows = load_dataset("json", data_files="rows.jsonl", split="train")
trainer = GRPOTrainer("acme/chat", reward_funcs=[score], train_dataset=rows)
"""
COMMAND = "trl dpo --model_name_or_path acme/chat --dataset_name acme/pairs --output_dir out\n"
MATHS = "rewards: [accuracy_reward]\n"
FORMAT = "rewards: [think_format_reward]\n"
SPLITS = {"dataset": Dataset(columns=("text", "source"), eval_columns=("source",))}
EVALUATED = _job("sft").replace("data.jsonl", "{path: data, eval_split: test}")

RULE = Rule(
    code="DAT101",
    name="unusable-columns",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16, the trainers' `_prepare_dataset` and `_calculate_rewards`. Tried: 90 sets of columns with types, one step "
        "of each method on a tiny model, with two orders of Python's sets; every example here is among them. The same with trl 1.8. "
        "Of commands: their scripts hand the data on as it is loaded."
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
        Case(job=_job("dpo"), facts=_typed(prompt=STRING, chosen=CHAT, rejected=CHAT), at="dataset"),
        Case(job=_job("sft"), facts=_typed(conversations=CHAT), at="dataset"),
        Case(job=_job("sft"), facts=_typed(messages=STRING), at="dataset"),
        Case(job=_job("kto"), facts=_typed(prompt=STRING, completion=STRING, label=STRING), at="dataset"),
        Case(job=_job("rloo", FORMAT), facts=_typed(prompt=STRING), at="dataset"),
        Case(script=SCRIPT, facts=_has("text"), at="trainer.train_dataset"),
        Case(script=REWARDED, facts=_has("question", "answer"), at="trainer.train_dataset"),
        Case(script=WEIGHTED, facts=_has("text"), at="trainer.train_dataset"),
        Case(command=COMMAND, facts=_has("text"), at="train.dataset_name"),
        Case(script=FORMATTED, facts=_has("question", "answer"), at=ONLY),
        Case(script=FORMATTED.replace("formatting_func", "data_collator"), facts=_typed(messages=STRING), at=ONLY),
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
        Case(job=_job("sft"), facts=_typed(conversations=SHARED, source=STRING)),
        Case(job=_job("dpo"), facts=_typed(prompt=CHAT, chosen=CHAT, rejected=CHAT)),
        Case(job=_job("kto"), facts=_typed(prompt=STRING, completion=STRING, label=Scalar("integer"))),
        Case(job=_job("grpo", FORMAT), facts=_typed(prompt=CHAT)),
        Case(script=SCRIPT, facts=_has("prompt", "chosen", "rejected")),
        Case(script=SCRIPT.replace("rows)", "rows, data_collator=collate)"), facts=_has("text")),
        Case(script=REWARDED, facts=_has("prompt", "answer")),
        Case(script=WEIGHTED, facts=_has("prompt", "chosen", "rejected")),
        Case(script=FORMATTED, facts=_typed(messages=CHAT)),
        Case(script=FORMATTED.replace("assistant_only_loss=True", ""), facts=_has("question", "answer")),
        Case(command=COMMAND, facts=_has("chosen", "rejected")),
        Case(command=COMMAND.replace("trl dpo", "trl sft --dataset_text_field body"), facts=_has("body")),
    ),
    kinds=ANY_KIND,
)
