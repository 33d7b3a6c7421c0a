"""Dataset that does not exist, is empty, or cannot be read.

## What it does
Checks files and folders on this machine, and data that holdfast creates itself, for rows: whether the file exists,
its format is known, its first rows can be parsed, and the split exists. With `dataset.eval_fraction`, also checks
whether there are enough rows for both parts.

## Why is this bad
The job fails when it loads its data, after its environment is built. The error is often misleading: `StopIteration`
for an empty file; a message that the Hub could not be reached for a name that does not exist.

## Fix safety
There is no automatic fix.
"""

from collections.abc import Iterator

from holdfast.core.check.facts import Dataset
from holdfast.core.check.finding import Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

PARTS = ("dataset.split", "dataset.eval_split", "dataset.config")
"""Keys that ask for a part of the data."""


def check(job: Document, dataset: Dataset) -> Iterator[Finding]:
    """Report data that cannot be read, and a held-out fraction that leaves one part empty."""
    if dataset.problem:
        named = (key for key in PARTS if dataset.absent_part and job.get(key, None) == dataset.absent_part)
        yield Finding(next(named, "dataset"), dataset.problem)
        return
    fraction = job.get("dataset.eval_fraction", None)
    if not isinstance(fraction, float) or not 0 < fraction < 1:
        return
    wanted = job.get("dataset.rows", None)
    rows = min(dataset.counted_rows, wanted) if isinstance(wanted, int) else dataset.counted_rows
    held_out = round(rows * fraction)
    if not 0 < held_out < rows:
        yield Finding("dataset.eval_fraction", f"{fraction:g} of {rows} rows is {held_out}: one part would be empty")


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: {path: data.jsonl, eval_fraction: 0.1}
"""

RULE = Rule(
    code="DAT102",
    name="unreadable-dataset",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "datasets 5.2. Tried: `load_dataset` on 40 files and folders that are empty, malformed or missing, and "
        "`train_test_split` on few rows."
    ),
    bad=(
        Case(job=JOB, facts={"dataset": Dataset(problem="no such file: data.jsonl")}, at="dataset"),
        Case(job=JOB, facts={"dataset": Dataset(problem="data.jsonl holds no rows")}, at="dataset"),
        Case(job=JOB, facts={"dataset": Dataset(columns=("text",), rows=3)}, at="dataset.eval_fraction"),
        Case(
            job=JOB.replace("eval_fraction: 0.1", "split: trian"),
            facts={"dataset": Dataset(problem="data.jsonl has no split `trian`; it has train", absent_part="trian")},
            at="dataset.split",
        ),
    ),
    good=(
        Case(job=JOB, facts={"dataset": Dataset(columns=("text",), rows=30)}),
        Case(job=JOB, facts={"dataset": Dataset(columns=("text",))}),
        Case(job=JOB.replace(", eval_fraction: 0.1", ""), facts={"dataset": Dataset(columns=("text",), rows=1)}),
    ),
)
