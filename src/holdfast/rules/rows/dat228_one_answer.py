"""Preferences that all prefer the same answer.

## What it does
Compares the `chosen` answers of all rows with one another, where the prompt stands in a column of its own.

## Why is this bad
dpo and reward learn what is preferred to what. If it is the same text whatever is asked, nothing about the question decides:
the model learns to give that text always, the margin grows, and every metric looks well. Usual causes are columns put the
wrong way round, and a placeholder that was never filled in. Where one answer is what you want, such as a refusal, mix in
rows with other answers, or other questions will get it too.

## Fix safety
There is no automatic fix: which of the two is the better answer, only you can tell.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found
from holdfast.core.document import Document
from holdfast.core.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.scan import DamagedRows, Scan


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Object to one answer to everything."""
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
