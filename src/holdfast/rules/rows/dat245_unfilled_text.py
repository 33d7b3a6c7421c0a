"""Texts with placeholders that were not filled in.

## What it does
Checks for content that is in every row's text: the name of another column in braces, `{answer}`, or `None` and `nan`
in place of a value.

## Why is this bad
Nothing raises: the model learns the braces, or to answer `None`. The causes are an f-string without its `f`, and a
`row.get` that misspells the name of a column.

## Fix safety
There is no automatic fix. Print one text after the mapping: `print(dataset[0]["text"])`.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import DamagedRows, Scan


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report names in braces, and with a warning the words that Python writes for a missing value."""
    for marked in damaged(job, scan, "unfilled"):
        if marked.detail.startswith("{"):
            yield found(
                marked, f"{_message(marked)}, and not that column's value: the `f` of an f-string may be missing"
            )
        else:  # a dataset about code may contain these, so it is never an error
            message = f"{_message(marked)}: a column may have been missing when it was written"
            yield Finding("dataset", message, rows=marked.rows, severity=Severity.WARNING)


def _message(marked: DamagedRows) -> str:
    return f"`{marked.column}` says `{marked.detail}` in all {marked.count:,} rows"


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
BRACES = DamagedRows("unfilled", "text", 64, (0, 1, 2), "{answer}")
NOTHING = DamagedRows("unfilled", "text", 64, (0, 1, 2), "None")

RULE = Rule(
    code="DAT245",
    name="unfilled-text",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="Tried with trl 1.16: `SFTTrainer` trains on such texts of `dataset.map` without a word.",
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=64, marked=(BRACES,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=64, marked=(NOTHING,))}, at="dataset"),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=64)}),),
    kinds=WITH_ROWS,
)
