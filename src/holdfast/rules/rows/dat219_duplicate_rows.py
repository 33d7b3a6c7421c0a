"""Rows that duplicate an earlier row.

## What it does
Compares all rows by the columns that the method's trainer reads. Ignores other columns, such as an id or a source.

## Why is this bad
A duplicated row counts twice, in an epoch and in the loss. A few do no harm; many are memorized. Prompts for grpo and
rloo are sampled anew each time, and are not reported.

## Fix safety
There is no automatic fix: a dataset may repeat some rows on purpose.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase, share
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.job.methods import ONLINE
from holdfast.core.rows.scan import DamagedRows, Scan

MANY = 0.1


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report the rows; a warning if they are many."""
    if job.get("method", None) in ONLINE:
        return
    for marked in damaged(job, scan, "duplicate"):
        severity = Severity.WARNING if share(scan, marked) >= MANY else None
        yield found(marked, rows_phrase(scan, marked, "duplicate{s} an earlier row"), severity=severity)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
FEW = DamagedRows("duplicate", "", 3, (3, 17, 99))
MOST = DamagedRows("duplicate", "", 480, (1, 2, 3))
SCORED = """
method: grpo
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
rewards: [rewards.py:score]
"""

RULE = Rule(
    code="DAT219",
    name="duplicate-rows",
    explain=__doc__,
    severity=Severity.INFO,
    may_be_meant=True,
    check=check,
    source=(
        "Tried with trl 1.16: four rows that are the same train sft, with the loss and the gradient of one of them, and no "
        "trainer looks for them."
    ),
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=500, marked=(FEW,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=500, marked=(MOST,))}, at="dataset"),
    ),
    good=(
        Case(job=JOB, facts={"scan": Scan(rows=500)}),
        Case(job=SCORED, facts={"scan": Scan(rows=500, marked=(MOST,))}),
    ),
    kinds=WITH_ROWS,
)
