"""Messages without content.

## What it does
Checks for messages whose `content` is null or only white space, and that contain neither a tool call nor reasoning.
Ignores a blank system message, which does no harm.

## Why is this bad
Transformers treats null as a missing field, and the templates of Qwen2.5, Phi and gpt-oss among others raise
`UndefinedError: 'dict object' has no attribute 'content'`; the job ends. Others write nothing, so null is a blank
answer: it teaches the model to say nothing. If 1 in 100 rows has a null answer, this is an error.

## Fix safety
There is no automatic fix: remove the rows, or fix them.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase, share
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import DamagedRows, Scan

SPELLED = {
    "null answer": "null for the `content` of an answer",
    "null": "null for the `content` of a message",
    "blank": "an empty message",
}
MANY = 0.01
"""A smaller share of null answers is a warning."""


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report each column with messages without content."""
    for marked in damaged(job, scan, "empty-turn"):
        # An empty rejected answer may be intended.
        learned = marked.detail == "null answer" and marked.column != "rejected"
        error = learned and share(scan, marked) >= MANY
        message = rows_phrase(scan, marked, f"{{has}} {SPELLED[marked.detail]} in `{marked.column}`")
        yield found(marked, message, severity=Severity.ERROR if error else None)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
NULL = DamagedRows("empty-turn", "messages", 3, (3, 17, 99), "null")
UNANSWERED = DamagedRows("empty-turn", "messages", 20, (3, 17, 99), "null answer")
BLANK = DamagedRows("empty-turn", "messages", 3, (3, 17, 99), "blank")

RULE = Rule(
    code="DAT214",
    name="empty-turn",
    explain=__doc__,
    severity=Severity.WARNING,
    may_be_meant=True,
    check=check,
    source=(
        "Tried with trl 1.16 and transformers 5.23: a user's and an assistant's turn with null in 38 chat templates for text, of "
        "which 8 raise because of it; blank ones are written as they are."
    ),
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=15806, marked=(NULL,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=15806, marked=(BLANK,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=100, marked=(UNANSWERED,))}, at="dataset"),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=15806)}),),
    kinds=WITH_ROWS,
)
