"""Evaluation on rows that the model trains on.

## What it does
Checks whether the training rows and the evaluation rows of a job overlap, where both are slices of one split:
`dataset.split` and `dataset.eval_split` of a job file, two `load_dataset()` of one dataset, the splits of a TRL
command. Reports only sets that certainly share rows, such as `train[:90%]` and `train[85%:]`, and trainers that use
the same variable, or the same item of it, for both.

## Why is this bad
The loss on learned rows falls for as long as the training runs. It shows neither when to stop nor how good the model
is.

This is a warning, here and in a rehearsal: it can be useful to test on purpose whether a model can memorize a few
rows.

## Fix safety
There is no automatic fix: only you know which rows to hold out.
"""

from collections.abc import Iterator
from typing import Any

from holdfast.catalog.data.only_load import LOAD
from holdfast.catalog.data.slices import overlap, read_slices
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call, CallResult
from holdfast.core.job.document import Document

ROLES = frozenset({"train_dataset", "eval_dataset"})
PARAMETERS = ("path", "name", "data_dir", "data_files", "split")


def check(job: Document) -> Iterator[Finding]:
    """Report rows that are both trained on and evaluated on."""
    if job.kind == "job":
        yield from _in_keys(job, "dataset.split", "dataset.eval_split", "train")
        return
    for call in job.calls:
        if call.path.startswith("trl ") and not call.open and job.get(f"{call.key}.eval_strategy", "no") != "no":
            key = call.key
            yield from _in_keys(job, f"{key}.dataset_train_split", f"{key}.dataset_test_split", "train")
    yield from _in_calls(job)


def _in_keys(job: Document, train: str, evaluation: str, usual: str) -> Iterator[Finding]:
    trained, evaluated = job.get(train, usual), job.get(evaluation, None)
    if isinstance(trained, str) and isinstance(evaluated, str) and (shared := _shared(trained, evaluated)):
        yield Finding(evaluation, f"{shared} is also in the training data")


def _in_calls(job: Document) -> Iterator[Finding]:
    trainer = job.call("trainer")
    if trainer is None or trainer.guard.because:
        return
    trained, evaluated = trainer.arguments.get("train_dataset"), trainer.arguments.get("eval_dataset")
    if any(map(ROLES.issubset, trainer.same)):
        yield Finding(f"{trainer.key}.eval_dataset", "the trainer evaluates on the rows that it trains on")
    elif isinstance(trained, CallResult) and isinstance(evaluated, CallResult):
        yield from _in_loads(job, trained, evaluated)


def _in_loads(job: Document, trained: CallResult, evaluated: CallResult) -> Iterator[Finding]:
    """Report rows that two calls of `load_dataset` both return."""
    loads = {call.key: call for call in job.calls if call.path == LOAD and not call.open and not call.guard.because}
    if not {trained.key, evaluated.key} <= loads.keys() or not trained.path == evaluated.path == LOAD:
        return
    if shared := _shared_by(_given(loads[trained.key]), _given(loads[evaluated.key])):
        split = f"{evaluated.key}.split"
        yield Finding(split, f"{shared} is also in the training data", place=job.place(split))


def _given(call: Call) -> dict[str, Any]:
    return dict(zip(PARAMETERS, call.positional, strict=False)) | dict(call.arguments)


def _shared_by(one: dict[str, Any], other: dict[str, Any]) -> str:
    """Return the slice of the other that shares rows with the one; empty if they load different data."""
    splits = one.pop("split", None), other.pop("split", None)
    known = all(isinstance(value, str | bool | int | None) for value in (*one.values(), *splits))
    return (
        _shared(*splits) if known and one == other and isinstance(splits[0], str) and isinstance(splits[1], str) else ""
    )


def _shared(trained: str, evaluated: str) -> str:
    """Return the slice to evaluate on that surely shares rows with one to train on; empty if there is none."""
    found = (part.text for part in read_slices(evaluated) for other in read_slices(trained) if overlap(part, other))
    return next((f"`{text}`" for text in found), "")


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: {path: acme/chats, split: "train[:90%]", eval_split: "train[85%:]"}
"""
SCRIPT = """from datasets import load_dataset
from trl import SFTTrainer

rows = load_dataset("acme/chats", split="train")
held_out = load_dataset("acme/chats", split="train[:200]")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", train_dataset=rows, eval_dataset=held_out)
"""
SAME = SCRIPT.replace("eval_dataset=held_out", "eval_dataset=rows")
MAPPED = """from datasets import load_dataset
from transformers import Trainer

rows = load_dataset("acme/chats").map(tokenize)
trainer = Trainer(model=model, train_dataset=rows["train"], eval_dataset=rows["train"])
"""
PARTED = """from datasets import load_dataset
from trl import SFTTrainer

rows = load_dataset("acme/chats", split="train").train_test_split(test_size=0.1, seed=0)
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", train_dataset=rows["train"], eval_dataset=rows["test"])
"""
LOADED_TWICE = """from datasets import load_dataset
from trl import SFTTrainer


def load(split):
    return load_dataset("acme/chats", split=split)


trained, held_out = load("train"), load("test")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", train_dataset=trained, eval_dataset=held_out)
"""
COMMAND = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name acme/chats --eval_strategy steps --dataset_test_split train\n"

RULE = Rule(
    code="DAT114",
    name="evaluated-training-rows",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "datasets 5.2, `arrow_reader.ReadInstruction`, with which the slices were compared. Tried with trl 1.16: with the same rows on both sides "
        "SFTTrainer trains and evaluates, and nothing says so."
    ),
    bad=(
        Case(job=JOB, at="dataset.eval_split"),
        Case(script=SCRIPT, at="calls.1.split"),
        Case(script=SAME, at="trainer.eval_dataset"),
        Case(script=MAPPED, at="trainer.eval_dataset"),
        Case(script=PARTED.replace('["test"]', '["train"]'), at="trainer.eval_dataset"),
        Case(command=COMMAND, at="train.dataset_test_split"),
    ),
    good=(
        Case(job=JOB.replace("85%", "90%")),
        Case(script=SCRIPT.replace('"train"', '"train[200:]"')),
        Case(script=SCRIPT.replace("train[:200]", "test")),
        Case(script=MAPPED.replace('eval_dataset=rows["train"]', 'eval_dataset=rows["test"]')),
        Case(script=PARTED),
        Case(script=PARTED.replace('["test"]', "[held_out]").replace('["train"]', "[split]")),
        Case(script=LOADED_TWICE),
        Case(job=JOB.replace("train[85%:]", "train[-100:]")),
        Case(command=COMMAND.replace("_split train", "_split test")),
    ),
    kinds=ANY_KIND,
)
