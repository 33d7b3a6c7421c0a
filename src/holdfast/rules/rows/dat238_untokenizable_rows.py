"""Rows that the chat template or the tokenizer refuses.

## What it does
Renders and tokenizes each row as the trainer does, and reports every error. Does not repeat rows that DAT206 and
DAT207 report.

## Why is this bad
The trainer raises the same error when it reaches that row: after the model is loaded and all rows before it are
tokenized. Templates refuse unknown roles, a system message, or turns that do not alternate; a model without a chat
template refuses every conversation.

## Fix safety
There is no automatic fix: correct the rows or remove them, or name another template in `model.chat_template`.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.rows.scan import DamagedRows, Lengths, RowCount, Scan, Tokens

REPORTED = ("null", "empty")


def check(tokens: Tokens, scan: Scan) -> Iterator[Finding]:
    """Report rows that the chat template or the tokenizer refuses."""
    failed, problem = tokens.failed, tokens.problem
    if failed.count == len(tokens.problems):
        known = {row for marked in scan.marked if marked.mark in REPORTED for row in marked.rows}
        others = {row: why for row, why in tokens.problems.items() if row not in known}
        failed = RowCount(len(others), tuple(others))
        problem = next((f"row {row}: {why}" for row, why in others.items()), "")
    if failed.count:
        because = f"; {problem}" if problem else ""
        yield Finding("dataset", f"{failed.among(tokens.rows)} cannot be tokenized{because}")


JOB = """
method: sft
model: google/gemma-2b-it
dataset: data.jsonl
"""
LENGTHS = Lengths(p50=300, p95=700, p99=900, max=1200, mean=333.0)
WHY = "TemplateError: System role not supported"
TWO = Tokens(rows=40, lengths=LENGTHS, failed=RowCount(2, (5, 8)), problems={5: WHY, 8: WHY})
NULL = DamagedRows("null", "messages", 1, (8,))

RULE = Rule(
    code="DAT238",
    name="untokenizable-rows",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16 and a tiny model: a template that refuses a system message raises TemplateError, a tokenizer "
        "without a template ValueError, no message at all IndexError, a null text AttributeError, a missing EOS TypeError."
    ),
    bad=(
        Case(job=JOB, facts={"tokens": TWO, "scan": Scan(rows=40)}, at="dataset"),
        Case(job=JOB, facts={"tokens": TWO, "scan": Scan(rows=40, marked=(NULL,))}, at="dataset"),
    ),
    good=(Case(job=JOB, facts={"tokens": Tokens(rows=40, lengths=LENGTHS), "scan": Scan(rows=40)}),),
    kinds=WITH_ROWS,
)
