"""Pairs without a prompt column whose answers share no prompt, or lack an answer.

## What it does
If there is no column `prompt`, checks whether chosen and rejected begin with the same message, or letter. In
conversations, also checks whether one of them ends after that message.

## Why is this bad
dpo and kto use the common beginning of both as the prompt, but never the last message of the shorter one. If nothing
is left, conversations raise `IndexError: list index out of range` or
`ValueError: Cannot apply chat template to an empty conversation`, and texts train without any prompt. reward reads
the answers as they are, but answers to different questions cannot be compared.

## Fix safety
There is no automatic fix: put the prompt before both answers, or into a column of its own. Remove rows that lack an
answer.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, holds_messages, rows_phrase
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.columns import STRING, ListOf, Struct
from holdfast.core.rows.scan import SINGLE_MESSAGE, DamagedRows, Scan

APART = "{has} no prompt: `chosen` and `rejected` begin differently"
UNREAD = ", and {names} {verb} not read"
SINGLE = "{has} a single message in `chosen` or `rejected`, which cannot be both the prompt and the answer"


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report pairs that share no prompt; a reward model does not need a shared prompt."""
    reward = job.get("method", None) == "reward"
    for marked in damaged(job, scan, "no-prompt-prefix"):
        chats, single = holds_messages(scan, marked.column), marked.detail == SINGLE_MESSAGE
        if (chats and not single) or not reward:
            message = rows_phrase(scan, marked, SINGLE if single else APART + _unread(scan))
            yield found(marked, message, severity=Severity.ERROR if chats and not reward else Severity.WARNING)


def _unread(scan: Scan) -> str:
    """Return the end of a message that names the columns which the model is not shown; empty if there are none."""
    names = ", ".join(f"`{name}`" for name in scan.unshown)
    return UNREAD.format(names=names, verb="is" if len(scan.unshown) == 1 else "are") if names else ""


JOB = """
method: dpo
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
TURNS = ListOf(Struct({"role": STRING, "content": STRING}))
CHATS = {"chosen": TURNS, "rejected": TURNS}
TEXTS = {"chosen": STRING, "rejected": STRING}
MARKED = DamagedRows("no-prompt-prefix", "chosen", 3, (3, 17, 99))
UNANSWERED = DamagedRows("no-prompt-prefix", "chosen", 3, (3, 17, 99), SINGLE_MESSAGE)

RULE = Rule(
    code="DAT217",
    name="unshared-prompt",
    explain=__doc__,
    severity=Severity.ERROR,
    may_be_meant=True,
    check=check,
    source=(
        "Tried with trl 1.16, `extract_prompt`: one such row among four raises in dpo and kto for conversations, trains in dpo "
        "for texts, and trains in reward. A single message in one of them, which the other begins with, raises in dpo and kto, "
        "and trains in reward; two messages train."
    ),
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=500, columns=CHATS, marked=(MARKED,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=500, columns=CHATS, marked=(UNANSWERED,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=500, columns=TEXTS, marked=(MARKED,))}, at="dataset"),
    ),
    good=(
        Case(job=JOB, facts={"scan": Scan(rows=500, columns=CHATS)}),
        Case(job=JOB.replace("dpo", "reward"), facts={"scan": Scan(rows=500, columns=TEXTS, marked=(MARKED,))}),
        Case(
            job=JOB.replace("dpo", "reward"),
            facts={"scan": Scan(rows=500, columns=CHATS, marked=(UNANSWERED,))},
        ),
    ),
    kinds=WITH_ROWS,
)
