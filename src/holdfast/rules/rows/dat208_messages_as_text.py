"""Conversations stored as text.

## What it does
Checks for texts that begin like a list of messages, in JSON or as Python prints it: `[{"role": …`, `[{'from': …`.

## Why is this bad
A trainer treats them as plain text. sft finds no conversation under `messages` or `conversations`, and raises
`KeyError: 'text'` or `ValueError: No columns in the dataset match`. Other columns train silently: the model learns to
write brackets and quotes, and never sees its chat template.

## Fix safety
There is no automatic fix. Parse them in a function that `dataset.map` names: `json.loads` for JSON,
`ast.literal_eval` for Python's notation.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase
from holdfast.catalog.formats.words import CONVERSATIONS
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import DamagedRows, Scan

READERS = {"JSON": "json.loads", "Python": "ast.literal_eval"}


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report each column of conversations that are stored as text."""
    for marked in damaged(job, scan, "json-text"):
        what = f"{{has}} messages in `{marked.column}` that are text ({marked.detail}; `{READERS[marked.detail]}` reads them)"
        severity = Severity.ERROR if marked.column in CONVERSATIONS else Severity.WARNING
        yield found(marked, rows_phrase(scan, marked, what), severity=severity)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: data.csv
"""
WRITTEN = DamagedRows("json-text", "messages", 5000, (0, 1, 2), "JSON")
PRINTED = DamagedRows("json-text", "prompt", 5000, (0, 1, 2), "Python")

RULE = Rule(
    code="DAT208",
    name="messages-as-text",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16: `messages` as JSON raise in sft; `prompt` and `completion`, and all columns of dpo, train on the "
        "letters if all of them are JSON, and raise TypeError if only some are."
    ),
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=5000, marked=(WRITTEN,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=5000, marked=(PRINTED,))}, at="dataset"),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=5000)}),),
    kinds=WITH_ROWS,
)
