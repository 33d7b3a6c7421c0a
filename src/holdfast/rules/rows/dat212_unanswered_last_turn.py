"""Conversations that do not end with the assistant.

## What it does
Checks for conversations, and for answers, that contain turns of the assistant but do not end with one.

## Why is this bad
Turns after the assistant's last one have no answer to learn from. sft learns them as well, unless it is set to learn
only from the assistant; and an answer that dpo, kto or reward compares ends with somebody else's words.

## Fix safety
There is no automatic fix: cut the last turn off, or find the missing answer.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import DamagedRows, Scan


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report each column with conversations that do not end with the assistant; of whole conversations, only for information."""
    for marked in damaged(job, scan, "last-turn"):
        message = rows_phrase(scan, marked, f"{{does}} not end with the assistant in `{marked.column}`")
        whole = marked.column in ("messages", "conversations")
        yield found(marked, message, severity=Severity.INFO if whole else None)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
ASKED = DamagedRows("last-turn", "messages", 40, (3, 17, 99))
ANSWER = DamagedRows("last-turn", "chosen", 40, (3, 17, 99))

RULE = Rule(
    code="DAT212",
    name="unanswered-last-turn",
    explain=__doc__,
    severity=Severity.WARNING,
    may_be_meant=True,
    check=check,
    source="Tried with trl 1.16: one row that ends with a user's turn among four trains sft, and that turn is learned.",
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=15806, marked=(ASKED,))}, at="dataset"),
        Case(job=JOB.replace("sft", "dpo"), facts={"scan": Scan(rows=15806, marked=(ANSWER,))}, at="dataset"),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=15806)}),),
    kinds=WITH_ROWS,
)
