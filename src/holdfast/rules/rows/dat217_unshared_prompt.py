"""Pairs without a prompt whose answers begin differently.

## What it does
Where there is no column `prompt`, looks whether chosen and rejected begin alike: with the same message, or letter.

## Why is this bad
dpo and kto take what both begin with for the prompt. If that is nothing, conversations raise `IndexError: list index out of
range`, and texts train without any prompt. reward reads the answers as they are, but answers to different questions cannot
be compared.

## Fix safety
There is no automatic fix: put the prompt before both answers, or into a column of its own.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, holds_messages, rows_phrase
from holdfast.core.columns import STRING, ListOf, Struct
from holdfast.core.document import Document
from holdfast.core.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.scan import DamagedRows, Scan


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Object to the rows; texts of reward need not begin alike."""
    reward = job.get("method", None) == "reward"
    for marked in damaged(job, scan, "no-prompt-prefix"):
        chats = holds_messages(scan, marked.column)
        if chats or not reward:
            message = rows_phrase(scan, marked, "{has} no prompt: `chosen` and `rejected` begin differently")
            yield found(marked, message, severity=Severity.ERROR if chats and not reward else Severity.WARNING)


JOB = """
method: dpo
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
TURNS = ListOf(Struct({"role": STRING, "content": STRING}))
CHATS = {"chosen": TURNS, "rejected": TURNS}
TEXTS = {"chosen": STRING, "rejected": STRING}
APART = DamagedRows("no-prompt-prefix", "chosen", 3, (3, 17, 99))

RULE = Rule(
    code="DAT217",
    name="unshared-prompt",
    explain=__doc__,
    severity=Severity.ERROR,
    may_be_meant=True,
    check=check,
    source=(
        "Tried with trl 1.16, `extract_prompt`: one such row among four raises in dpo and kto for conversations, trains in dpo "
        "for texts, and trains in reward."
    ),
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=500, columns=CHATS, marked=(APART,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=500, columns=TEXTS, marked=(APART,))}, at="dataset"),
    ),
    good=(
        Case(job=JOB, facts={"scan": Scan(rows=500, columns=CHATS)}),
        Case(job=JOB.replace("dpo", "reward"), facts={"scan": Scan(rows=500, columns=TEXTS, marked=(APART,))}),
    ),
    kinds=WITH_ROWS,
)
