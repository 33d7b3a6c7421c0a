"""Fewer rows than one training step uses.

## What it does
Checks the number of rows that a job file trains on against the batch of one step: `per_device_train_batch_size` times
`gradient_accumulation_steps`, on all processes together. Ignores jobs that pack rows, stream them or generate their
own batches.

## Why is this bad
Nothing fails: each epoch is one step on all rows, the batch is smaller than configured, and a schedule of a few steps
hardly leaves its warm-up. With `dataloader_drop_last`, and fewer rows than one batch, no batch is left: the trainer
raises that `max_steps` must be set.

## Fix safety
There is no automatic fix: use more rows, a smaller batch or fewer accumulation steps.
"""

from collections.abc import Iterator

from holdfast.catalog.calls.train_arguments import setting
from holdfast.core.check.facts import Dataset
from holdfast.core.check.finding import JOB_FILES, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.text.numbers import is_count

METHODS = ("sft", "dpo", "reward", "kto")
SIZE, ACCUMULATED, DROPS = "per_device_train_batch_size", "gradient_accumulation_steps", "dataloader_drop_last"


def check(job: Document, dataset: Dataset, processes: int) -> Iterator[Finding]:
    """Report a batch that the data cannot fill."""
    size, accumulated = setting(job, SIZE), setting(job, ACCUMULATED)
    apart = job.get("dataset.streaming", None) is True or job.get("train.packing", None) not in (None, False)
    if job.get("method") not in METHODS or apart or not is_count(size) or not is_count(accumulated):
        return
    if rows := _rows(job, dataset):
        yield from _unfilled(job, rows, size * processes, accumulated)


def _unfilled(job: Document, rows: int, batch: int, accumulated: int) -> Iterator[Finding]:
    """Report data that is less than a batch of all processes, or than the batches of one step."""
    if rows < batch and setting(job, DROPS) is True:
        fault = f"{rows} rows do not fill one batch of {batch}, and incomplete batches are dropped"
        yield Finding(f"train.{DROPS}", fault)
    elif rows < batch * accumulated:
        written = (f"train.{name}" for name in (ACCUMULATED, SIZE) if job.get(f"train.{name}", None) is not None)
        fault = f"a step takes {batch * accumulated} rows, and the data has {rows}: each epoch is one step"
        yield Finding(next(written, "dataset"), fault, severity=Severity.WARNING)


def _rows(job: Document, dataset: Dataset) -> int:
    """Return the number of rows to train on.

    Raises:
        MissingFactError: Nobody counted them, or they cannot be read.
    """
    wanted, fraction = job.get("dataset.rows", None), job.get("dataset.eval_fraction", None)
    counted = dataset.readable().counted_rows
    rows = min(counted, wanted) if is_count(wanted) else counted
    return rows - round(rows * fraction) if isinstance(fraction, float) and 0 < fraction < 1 else rows


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: rows.jsonl
train:
  per_device_train_batch_size: 4
  gradient_accumulation_steps: 64
"""
DROPPING = JOB.replace("gradient_accumulation_steps: 64", "dataloader_drop_last: true").replace("size: 4", "size: 16")


def _facts(rows: int | None, processes: int = 1) -> dict[str, object]:
    return {"dataset": Dataset(columns=("text",), rows=rows), "processes": processes}


RULE = Rule(
    code="DAT118",
    name="less-than-a-step",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23. Tried with trl 1.16, SFTTrainer and eight rows: 4 times 64 makes one step of one epoch, and so does 16; 16 with "
        "`dataloader_drop_last` raises ValueError, 4 times 64 with it does not."
    ),
    bad=(
        Case(job=JOB, facts=_facts(8), at="train.gradient_accumulation_steps"),
        Case(job=DROPPING, facts=_facts(8), at="train.dataloader_drop_last"),
        Case(job=JOB.replace("64", "1"), facts=_facts(24, 8), at="train.gradient_accumulation_steps"),
    ),
    good=(
        Case(job=JOB, facts=_facts(256)),
        Case(job=JOB, facts=_facts(None)),
        Case(job=DROPPING, facts=_facts(16)),
        Case(job=JOB + "  packing: true\n", facts=_facts(8)),
    ),
    kinds=JOB_FILES,
)
