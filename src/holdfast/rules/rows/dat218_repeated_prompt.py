"""Answers that repeat their prompt.

## What it does
If there is a column `prompt`, checks whether an answer begins with it: with its first message, or with its whole
text.

## Why is this bad
TRL puts the prompt before each answer, so the model reads it twice, and learns to repeat the question before it
answers.

## Fix safety
There is no automatic fix: drop the column `prompt` for dpo, kto and reward, which find the prompt in the common
beginning of both answers, or cut it off the answers.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import DamagedRows, Scan

COPY = "whole"
"""Detail of answers that are their prompts, in all rows."""


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report each column with answers that repeat their prompt."""
    for marked in damaged(job, scan, "repeated-prompt"):
        what = f"begin{{s}} with the prompt in `{marked.column}`, and TRL puts the prompt before it again"
        if marked.detail == COPY:
            what = f"repeat{{s}} only the prompt in `{marked.column}`"
        yield found(marked, rows_phrase(scan, marked, what))


JOB = """
method: dpo
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
COPIES = DamagedRows("repeated-prompt", "completion", 500, (0, 1, 2), "whole")
TWICE = DamagedRows("repeated-prompt", "chosen", 500, (0, 1, 2))

RULE = Rule(
    code="DAT218",
    name="repeated-prompt",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source="Tried with trl 1.16: dpo and reward on four such rows of conversations train, on prompt, prompt and answer.",
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=500, marked=(TWICE,))}, at="dataset"),
        Case(job=JOB.replace("dpo", "sft"), facts={"scan": Scan(rows=500, marked=(COPIES,))}, at="dataset"),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=500)}),),
    kinds=WITH_ROWS,
)
