"""Conversations without a user turn.

## What it does
Checks for conversations, and for prompts, without any turn of the user.

## Why is this bad
The templates of Qwen3.5 and newer raise `TemplateError: No user query found in messages`, those of Gemma and Cohere
that roles must alternate, and the job ends. With others the model learns to speak without a question.

## Fix safety
There is no automatic fix: put the question where it belongs, or remove the rows.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import DamagedRows, Scan


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report each column with conversations without a user turn."""
    for marked in damaged(job, scan, "no-user"):
        yield found(marked, rows_phrase(scan, marked, f"{{has}} no user turn in `{marked.column}`"))


JOB = """
method: sft
model: Qwen/Qwen3.5-0.8B
dataset: data.jsonl
"""
ALONE = DamagedRows("no-user", "messages", 3, (3, 17, 99))

RULE = Rule(
    code="DAT213",
    name="no-user-turn",
    explain=__doc__,
    severity=Severity.WARNING,
    may_be_meant=True,
    check=check,
    source="Tried with trl 1.16: 38 chat templates for text that it has; 8 raise at a system and an assistant turn without a user's.",
    bad=(Case(job=JOB, facts={"scan": Scan(rows=15806, marked=(ALONE,))}, at="dataset"),),
    good=(Case(job=JOB, facts={"scan": Scan(rows=15806)}),),
    kinds=WITH_ROWS,
)
