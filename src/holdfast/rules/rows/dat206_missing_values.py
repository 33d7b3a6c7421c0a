"""Missing values in a column that the trainer reads.

## What it does
Checks for null in each column that the method's trainer reads. Other columns may contain null.

## Why is this bad
A single such row ends the job before its first step, or in the middle of training for grpo and rloo:
`AttributeError: 'NoneType' object has no attribute 'endswith'`,
`ValueError: You need to specify either `text` or `text_target``, or `TypeError`. A JSON row that lacks the column
counts as null, too.

## Fix safety
There is no automatic fix: remove the rows, or fix them.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import DamagedRows, Scan


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report each column with missing values."""
    for marked in damaged(job, scan, "null"):
        yield found(marked, rows_phrase(scan, marked, f"{{has}} null in `{marked.column}`"))


JOB = """
method: dpo
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
NULL = DamagedRows("null", "rejected", 3, (17, 99, 2045))

RULE = Rule(
    code="DAT206",
    name="missing-values",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16: one null among four rows, first or third, in each column of sft, dpo, kto, reward and grpo, "
        "texts and conversations, and in conversations of rloo. All raise; grpo and rloo once they come to that row."
    ),
    bad=(Case(job=JOB, facts={"scan": Scan(rows=5000, marked=(NULL,))}, at="dataset"),),
    good=(Case(job=JOB, facts={"scan": Scan(rows=5000)}),),
    kinds=WITH_ROWS,
)
