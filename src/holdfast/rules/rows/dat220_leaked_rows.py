"""Training rows that are also in the evaluation split.

## What it does
Compares the rows of both splits by the columns that the method's trainer reads. Ignores other columns, such as an id
or a source.

## Why is this bad
The model does well on rows that it was trained on: the evaluation loss is lower than on new rows, early stopping
waits too long, and the best checkpoint is not the best. Prompts for grpo and rloo are answered anew, which is less
severe.

## Fix safety
There is no automatic fix: only you know which split should keep them.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.job.methods import ONLINE
from holdfast.core.rows.scan import DamagedRows, Scan


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report training rows in the evaluation split, at the key that names the split."""
    key = "dataset" if job.get("dataset.eval_split", None) is None else "dataset.eval_split"
    severity = Severity.INFO if job.get("method", None) in ONLINE else None
    for marked in damaged(job, scan, "leaked"):
        message = rows_phrase(scan, marked, f"{{is_}} among the {scan.eval_rows:,} of the evaluation split too")
        yield found(marked, message, key=key, severity=severity)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset:
  path: data
  eval_split: test
"""
BOTH = DamagedRows("leaked", "", 3, (3, 17, 99))

RULE = Rule(
    code="DAT220",
    name="leaked-rows",
    explain=__doc__,
    severity=Severity.WARNING,
    may_be_meant=True,
    check=check,
    source="Read in trl 1.16: its trainers take both splits as they are, and compare no rows.",
    bad=(
        Case(
            job=JOB,
            facts={"scan": Scan(rows=5000, eval_rows=500, marked=(BOTH,))},
            at="dataset.eval_split",
        ),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=5000, eval_rows=500)}),),
    kinds=WITH_ROWS,
)
