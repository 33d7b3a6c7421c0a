"""Pairs with the same chosen and rejected answer.

## What it does
Compares the two answers of each row.

## Why is this bad
dpo and reward learn from the difference between the answers, and there is none: the loss of such a row is ln 2
whatever the model does, and its gradient is 0. kto learns both that the answer is good and that it is bad.

## Fix safety
There is no automatic fix: remove the rows.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase, share
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import DamagedRows, Scan

HALF = 0.5


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report identical pairs; an error if half of all pairs are."""
    for marked in damaged(job, scan, "equal-pair"):
        message = rows_phrase(scan, marked, "{has} the same answer in `chosen` and `rejected`")
        severity = Severity.ERROR if share(scan, marked) >= HALF else Severity.WARNING
        yield found(marked, message, severity=severity)


JOB = """
method: dpo
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
FEW = DamagedRows("equal-pair", "rejected", 3, (3, 17, 99))
MOST = DamagedRows("equal-pair", "rejected", 480, (0, 1, 2))

RULE = Rule(
    code="DAT216",
    name="identical-pair",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "Tried with trl 1.16: dpo and reward on four such rows, texts and conversations, train with loss 0.6931 and a gradient "
        "of 1e-7; kto trains."
    ),
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=500, marked=(FEW,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=500, marked=(MOST,))}, at="dataset"),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=500)}),),
    kinds=WITH_ROWS,
)
