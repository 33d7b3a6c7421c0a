"""Fewer rows than the job asks for, or too few to hold any out.

## What it does
Checks `dataset.rows` against the number of rows, and whether an `eval_fraction` of them leaves any to train on.

## Why is this bad
If the job asks for more rows than exist, it trains on those that exist, and its name and its report may say
otherwise. If there is a single row, none is left to train on:
`ValueError: With n_samples=1, … the resulting train set will be empty`.

## Fix safety
There is no automatic fix.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import WITH_ROWS, Case, Finding, MissingFactError, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import Scan
from holdfast.core.text.numbers import is_whole


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report fewer rows than the job asks for, and evaluation rows held out of a single row."""
    if job.get("dataset.mix", None):
        raise MissingFactError("dataset.mix", "the rows of the other datasets are not counted here")
    wanted = job.get("dataset.rows", None)
    number = is_whole(wanted)
    if number and 0 < scan.rows < wanted:
        yield Finding("dataset.rows", f"asks for {wanted:,} rows, and there are {scan.rows:,}")
    used = min(scan.rows, wanted) if number else scan.rows
    if used == 1 and job.get("dataset.eval_fraction", None) is not None:
        yield Finding("dataset.eval_fraction", "holds out a part of one row", severity=Severity.ERROR)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset:
  path: data.jsonl
  rows: 5000
"""
HELD = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset:
  path: data.jsonl
  eval_fraction: 0.1
"""

RULE = Rule(
    code="DAT205",
    name="fewer-rows-than-asked",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "holdfast's own keys `dataset.rows` and `dataset.eval_fraction`. Tried with datasets 5.2: `train_test_split` of one row "
        "raises ValueError."
    ),
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=812)}, at="dataset.rows"),
        Case(job=HELD, facts={"scan": Scan(rows=1)}, at="dataset.eval_fraction"),
    ),
    good=(
        Case(job=JOB, facts={"scan": Scan(rows=5000)}),
        Case(job=HELD, facts={"scan": Scan(rows=2)}),
    ),
    kinds=WITH_ROWS,
)
