"""Solution steps with more or fewer labels than steps.

## What it does
Compares the lengths of `completions` and `labels` in each row of stepwise supervision.

## Why is this bad
Each step needs a label. If one is missing, the labels after it may belong to the wrong steps, and the program that
pairs both lists cuts off the end of the longer one.

## Fix safety
There is no automatic fix: it is unknown which label is missing.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import DamagedRows, Scan


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report rows with more or fewer labels than steps."""
    for marked in damaged(job, scan, "uneven-steps"):
        yield found(marked, rows_phrase(scan, marked, "{has} a different number of `labels` than of `completions`"))


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
UNEVEN = DamagedRows("uneven-steps", "labels", 3, (3, 17, 99))

RULE = Rule(
    code="DAT224",
    name="uneven-steps",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source="Read in the documentation of trl 1.16, which has the format of stepwise supervision and no trainer for it any more.",
    bad=(Case(job=JOB, facts={"scan": Scan(rows=500, marked=(UNEVEN,))}, at="dataset"),),
    good=(Case(job=JOB, facts={"scan": Scan(rows=500)}),),
    kinds=WITH_ROWS,
)
