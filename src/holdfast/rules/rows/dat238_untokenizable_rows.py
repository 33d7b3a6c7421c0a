"""Rows that the chat template or the tokenizer refuses.

## What it does
Renders and tokenizes each row as the trainer does, and tells what is raised.

## Why is this bad
The trainer raises it as well, when it comes to that row: after the model was loaded and all rows before it were
tokenized. Templates refuse roles that they do not know, a system message, or turns that do not alternate; a model
without a chat template refuses every conversation.

## Fix safety
There is no automatic fix: correct the rows or take them out, or name another template in `model.chat_template`.
"""

from collections.abc import Iterator

from holdfast.core.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.scan import Lengths, RowCount, Tokens


def check(tokens: Tokens) -> Iterator[Finding]:
    """Object to rows that raise."""
    if tokens.failed.count:
        yield Finding("dataset", f"{tokens.failed.among(tokens.rows)} cannot be made tokens of; {tokens.problem}")


JOB = """
method: sft
model: google/gemma-2b-it
dataset: data.jsonl
"""
LENGTHS = Lengths(p50=300, p95=700, p99=900, max=1200, mean=333.0)
WHY = "row 5: TemplateError: System role not supported"

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
        Case(
            job=JOB,
            facts={"tokens": Tokens(rows=40, lengths=LENGTHS, failed=RowCount(2, (5, 8)), problem=WHY)},
            at="dataset",
        ),
    ),
    good=(Case(job=JOB, facts={"tokens": Tokens(rows=40, lengths=LENGTHS)}),),
    kinds=WITH_ROWS,
)
