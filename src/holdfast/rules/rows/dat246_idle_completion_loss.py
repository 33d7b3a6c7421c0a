"""`completion_only_loss` for rows without a completion.

## What it does
Checks for `completion_only_loss=True` in an sft job whose rows have no column `completion`.

## Why is this bad
The trainer has no mask to apply, and silently learns every token, including the questions.

## Fix safety
There is no automatic fix. Split the rows into `prompt` and `completion`; for conversations set
`assistant_only_loss=True` instead.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.columns import STRING
from holdfast.core.rows.scan import Scan

KEY = "train.completion_only_loss"
MASKS = ("completion", "completion_mask", "labels")


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report `completion_only_loss` for rows without a completion."""
    if job.get("method", None) != "sft" or job.get(KEY, None) is not True or job.get("dataset.map", None) is not None:
        return
    if scan.columns and not any(name in scan.columns for name in MASKS):
        message = (
            "`completion_only_loss` has no effect: the rows have no column `completion`, and every token is learned"
        )
        yield Finding(KEY, message)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
train:
  completion_only_loss: true
"""
TEXTS = {"scan": Scan(rows=64, columns={"text": STRING})}

RULE = Rule(
    code="DAT246",
    name="idle-completion-loss",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source="trl 1.16, `SFTTrainer._prepare_dataset`, which masks by a column `completion_mask` where there is one. Tried on rows of texts.",
    bad=(Case(job=JOB, facts=TEXTS, at=KEY),),
    good=(
        Case(job=JOB, facts={"scan": Scan(rows=64, columns={"prompt": STRING, "completion": STRING})}),
        Case(job=JOB.replace("true", "false"), facts=TEXTS),
    ),
    kinds=WITH_ROWS,
)
