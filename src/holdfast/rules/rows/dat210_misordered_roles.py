"""Conversations with turns out of order.

## What it does
Checks for two turns of the user or of the assistant in a row, a system turn that is not the first, an assistant turn
at the start, a tool answer without a tool call, and a prompt that ends with the assistant.

## Why is this bad
The templates of Gemma, Cohere and others raise `TemplateError: Conversation roles must alternate user/assistant`, and
the job ends; those of Qwen3.5 raise at a late system turn. Most templates write the turns as they are, and the model
learns that order. Except in grpo and rloo, a prompt that ends with the assistant is followed by the opening of
another assistant turn.

## Fix safety
There is no automatic fix: two turns may be one that was split, or an answer between them may be missing.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.job.methods import ONLINE
from holdfast.core.rows.scan import DamagedRows, Scan

# Many role-play datasets begin so, and few templates refuse it.
COMMON = "the assistant speaks first"
ANSWERED = "the prompt ends with the assistant"


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report each way in which turns are out of order."""
    for marked in damaged(job, scan, "role-order"):
        if marked.detail == ANSWERED and job.get("method", None) in ONLINE:
            continue
        message = rows_phrase(scan, marked, f"{{is_}} out of order in `{marked.column}`, {marked.detail}")
        yield found(marked, message, severity=Severity.INFO if marked.detail == COMMON else None)


JOB = """
method: sft
model: google/gemma-3-1b-it
dataset: data.jsonl
"""
TWO = DamagedRows("role-order", "messages", 12, (17, 99, 412), "two user turns in a row")
EARLY = DamagedRows("role-order", "messages", 12, (17, 99, 412), COMMON)
FILLED = DamagedRows("role-order", "prompt", 12, (17, 99, 412), ANSWERED)

RULE = Rule(
    code="DAT210",
    name="misordered-roles",
    explain=__doc__,
    severity=Severity.WARNING,
    may_be_meant=True,
    check=check,
    source=(
        "Tried with trl 1.16: 38 chat templates for text that it has, of which 4 raise at two turns in a row and at an assistant who "
        "speaks first, 7 at a late system turn; `SFTTrainer` trains on all of these with the ChatML template."
    ),
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=5000, marked=(TWO,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=5000, marked=(EARLY,))}, at="dataset"),
    ),
    good=(
        Case(job=JOB, facts={"scan": Scan(rows=5000)}),
        Case(
            job=JOB.replace("sft", "grpo") + "rewards: [think_format_reward]\n",
            facts={"scan": Scan(rows=5000, marked=(FILLED,))},
        ),
    ),
    kinds=WITH_ROWS,
)
