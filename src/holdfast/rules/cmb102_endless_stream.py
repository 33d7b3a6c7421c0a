"""Streamed dataset without `max_steps`.

## What it does
Checks for `dataset.streaming: true` without a `train.max_steps` above 0, or with `dataset.eval_fraction`, which a
stream does not support. In a script, checks for a `train_dataset` that is loaded with `streaming=True`.

## Why is this bad
A stream has no length, so epochs cannot be converted to steps: building the trainer raises ValueError. A stream
cannot be split either: an `IterableDataset` has no `train_test_split`.

## Fix safety
The fix is unsafe: it turns streaming off, so everything else works as written, but all rows are downloaded and stored
on disk. Only you know how many steps are enough.
"""

from collections.abc import Iterator
from typing import Any

from holdfast.catalog.calls.train_arguments import setting
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import Call, CallResult
from holdfast.core.job.document import Document, Remove

STREAMING = "dataset.streaming"
DOWNLOAD = Fix("download the rows instead", (Remove(STREAMING),), safe=False)


def check(job: Document) -> Iterator[Finding]:
    """Report a stream without `max_steps`, and one that is to be split."""
    return _in_job_file(job) if job.kind == "job" else _in_program(job)


def _in_program(job: Document) -> Iterator[Finding]:
    trainer = job.call("trainer")
    if trainer is None or not _streams(job, trainer) or trainer.guard.tolerates("ValueError"):
        return
    steps = _max_steps(job, trainer)
    if isinstance(steps, int | float) and steps <= 0 and not _may_set_more(job):
        yield Finding(
            STREAMING, "a stream has no length: say in the config how long to train with `max_steps`", DOWNLOAD
        )


def _max_steps(job: Document, trainer: Call) -> Any:
    """Return `max_steps` of the config that a trainer is given; None if it is not known which one."""
    config = trainer.arguments.get("args")
    return job.get("train.max_steps", -1) if isinstance(config, CallResult) and config.key == "train" else None


def _may_set_more(job: Document) -> bool:
    """True if the config may be given more arguments than can be seen."""
    return any(call.key == "train" and (call.open or call.via != "call") for call in job.calls)


def _streams(job: Document, trainer: Call) -> bool:
    """True if the trainer is given what `load_dataset(…, streaming=True, split=…)` gave."""
    rows = trainer.arguments.get("train_dataset")
    loaded = isinstance(rows, CallResult) and rows.path == "datasets.load_dataset" and rows.key == "dataset"
    return loaded and job.get(STREAMING, default=False) is True and job.get("dataset.split", None) is not None


def _in_job_file(job: Document) -> Iterator[Finding]:
    if job.get(STREAMING, default=False) is not True:
        return
    steps = setting(job, "max_steps")
    if isinstance(steps, int | float) and steps <= 0:
        yield Finding(STREAMING, "a stream has no length: say how long to train with `train.max_steps`", DOWNLOAD)
    if job.get("dataset.eval_fraction", None) is not None:
        yield Finding(
            "dataset.eval_fraction", "no part of a stream can be held out: name a `dataset.eval_split`", DOWNLOAD
        )


ENDLESS = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset:
  path: HuggingFaceFW/fineweb-edu
  streaming: true
train:
  num_train_epochs: 1
"""
DOWNLOADED = ENDLESS.replace("  streaming: true\n", "")
SPLIT = ENDLESS.replace("true\n", "true\n  eval_fraction: 0.1\n").replace("num_train_epochs: 1", "max_steps: 100")

SCRIPT = """
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

rows = load_dataset("HuggingFaceFW/fineweb-edu", split="train", streaming=True)
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=SFTConfig(num_train_epochs=1), train_dataset=rows)
"""

RULE = Rule(
    code="CMB102",
    name="endless-stream",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    kinds=ANY_KIND,
    source=(
        "transformers 5.23, `Trainer._validate_args`; datasets 5.2. Tried with a generator of rows: ValueError while "
        "`SFTTrainer` is built; AttributeError for `train_test_split`."
    ),
    bad=(
        Case(job=ENDLESS, at=STREAMING, fixed=DOWNLOADED),
        Case(script=SCRIPT, at=STREAMING, fixed=SCRIPT.replace(", streaming=True", "")),
        Case(job=SPLIT, at="dataset.eval_fraction", fixed=SPLIT.replace("  streaming: true\n", "")),
    ),
    good=(
        Case(job=ENDLESS.replace("num_train_epochs: 1", "max_steps: 100")),
        Case(job=SPLIT.replace("eval_fraction: 0.1", "eval_split: test")),
        Case(job=DOWNLOADED),
        Case(script=SCRIPT.replace("num_train_epochs=1", "max_steps=100")),
        Case(script=SCRIPT.replace("train_dataset=rows", "train_dataset=list(rows)")),
    ),
)
