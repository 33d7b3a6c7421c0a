"""Preferences that all prefer the same answer.

## What it does
Compares the `chosen` answers of all rows with one another, if the prompt is in a column of its own.

## Why is this bad
dpo and reward learn which answer is preferred. If that is the same text for every prompt, the question plays no role:
the model learns to give that text always, the margin grows, and every metric looks good. Usual causes are swapped
columns, and a placeholder that was never filled in. If you want one answer, such as a refusal, mix in rows with other
answers, or other questions will get it too.

## Fix safety
There is no automatic fix: only you know which of the two answers is better.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import DamagedRows, Scan


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report preferences that all prefer the same answer."""
    for marked in damaged(job, scan, "one-answer"):
        yield found(
            marked,
            f"`chosen` is the same text in all {marked.count:,} rows: the model learns to say it whatever it is asked; "
            f"are `chosen` and `rejected` swapped?",
        )


JOB = """
method: dpo
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""

RULE = Rule(
    code="DAT228",
    name="one-answer",
    explain=__doc__,
    severity=Severity.WARNING,
    may_be_meant=True,
    check=check,
    source=(
        "Tried with trl 1.16: `DPOTrainer` on 32 rows that all prefer `no` trains with a growing margin and "
        "`rewards/accuracies` of 1, and warns of nothing."
    ),
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=500, marked=(DamagedRows("one-answer", "chosen", 500),))}, at="dataset"),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=500)}),),
    kinds=WITH_ROWS,
)
