"""Unpaired preferences that are all good, or all bad.

## What it does
Counts the labels of data that kto reads as prompt, completion and label.

## Why is this bad
kto raises the probability of good answers relative to bad ones. With only one kind it silently trains all the same:
every completion becomes more likely, or every one less likely, and nothing shows which differences matter.

## Fix safety
There is no automatic fix: the other half of the data is missing, or its label was lost on the way.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import DamagedRows, Scan


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report labels that are all the same."""
    for marked in damaged(job, scan, "one-class"):
        yield found(marked, f"the `label` of all {marked.count:,} rows is {marked.detail}: kto compares both kinds")


JOB = """
method: kto
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""

RULE = Rule(
    code="DAT221",
    name="one-class",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source="Tried with trl 1.16: `KTOTrainer` trains on four rows that are all true, and on four that are all false.",
    bad=(
        Case(
            job=JOB,
            facts={"scan": Scan(rows=500, marked=(DamagedRows("one-class", "label", 500, detail="true"),))},
            at="dataset",
        ),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=500)}),),
    kinds=WITH_ROWS,
)
