"""Conversations without an assistant turn.

## What it does
Checks for conversations, and for answers, without any turn of the assistant. Does not apply to grpo and rloo, where
the model writes that turn itself.

## Why is this bad
These rows contain nothing that the model should say. By default, sft learns from every turn, so it learns to write
what users write. With `assistant_only_loss` it raises at the first such row:
`RuntimeError: … at least one example has no assistant tokens`.

## Fix safety
There is no automatic fix: remove the rows, or fix their roles.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.job.methods import ONLINE
from holdfast.core.rows.scan import DamagedRows, Scan


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report each column with conversations without an assistant turn."""
    if job.get("method", None) in ONLINE:
        return
    for marked in damaged(job, scan, "no-assistant"):
        message = rows_phrase(scan, marked, f"{{has}} no assistant turn in `{marked.column}`")
        raises = job.get("method", None) == "sft" and job.get("train.assistant_only_loss", None) is True
        yield found(marked, message, severity=Severity.ERROR if raises else None)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
STRICT = """
method: sft
model: Qwen/Qwen3-0.6B
dataset: data.jsonl
train:
  assistant_only_loss: true
"""
PROMPTS = """
method: grpo
model: Qwen/Qwen3-0.6B
dataset: data.jsonl
rewards: [accuracy_reward]
"""
ALONE = DamagedRows("no-assistant", "messages", 3, (3, 17, 99))

RULE = Rule(
    code="DAT211",
    name="no-assistant-turn",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "Tried with trl 1.16: one row of a user's turn among four trains sft; with `assistant_only_loss` and TRL's own Qwen3 "
        "template for training it raises RuntimeError."
    ),
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=15806, marked=(ALONE,))}, at="dataset"),
        Case(job=STRICT, facts={"scan": Scan(rows=15806, marked=(ALONE,))}, at="dataset"),
    ),
    good=(
        Case(job=JOB, facts={"scan": Scan(rows=15806)}),
        Case(job=PROMPTS, facts={"scan": Scan(rows=15806, marked=(ALONE,))}),
    ),
    kinds=WITH_ROWS,
)
