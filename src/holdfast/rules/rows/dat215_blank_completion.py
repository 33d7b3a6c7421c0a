"""Blank answers.

## What it does
Checks for text answers that contain only white space: `completion`, `chosen`, `rejected`.

## Why is this bad
The end-of-text token is appended to each answer, so a blank answer teaches the model to end at once. If the answers
contain their prompt, dpo and kto search for their common beginning, and raise `UnboundLocalError` at an answer
without any letter.

## Fix safety
There is no automatic fix: remove the rows, or find the answers.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.columns import STRING
from holdfast.core.rows.scan import DamagedRows, Scan

COMPARING = (None, "dpo", "kto")


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report each column with blank answers."""
    for marked in damaged(job, scan, "blank-completion"):
        message = rows_phrase(scan, marked, f"{{has}} a blank answer in `{marked.column}`")
        yield found(marked, message, severity=_severity(job, scan, marked))


def _severity(job: Document, scan: Scan, marked: DamagedRows) -> Severity:
    if marked.column == "completion":
        return Severity.WARNING
    if "prompt" not in scan.columns and job.get("method", None) in COMPARING:
        return Severity.ERROR
    return Severity.WARNING if marked.column == "chosen" else Severity.INFO  # an empty answer may be the rejected one


JOB = """
method: dpo
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
PAIR = {"chosen": STRING, "rejected": STRING}
CHOSEN = DamagedRows("blank-completion", "chosen", 3, (3, 17, 99))
REJECTED = DamagedRows("blank-completion", "rejected", 3, (3, 17, 99))
COMPLETION = DamagedRows("blank-completion", "completion", 3, (3, 17, 99))

RULE = Rule(
    code="DAT215",
    name="blank-completion",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "Tried with trl 1.16: one blank answer among four rows of sft, dpo, kto and reward, and of dpo and reward without a "
        "prompt: there an empty text raises in dpo, whose `extract_prompt` is that of kto, and white space trains with an empty prompt."
    ),
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=500, columns=PAIR, marked=(CHOSEN,))}, at="dataset"),
        Case(
            job=JOB,
            facts={"scan": Scan(rows=500, columns={"prompt": STRING, **PAIR}, marked=(REJECTED,))},
            at="dataset",
        ),
        Case(job=JOB.replace("dpo", "sft"), facts={"scan": Scan(rows=500, marked=(COMPLETION,))}, at="dataset"),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=500, columns=PAIR)}),),
    kinds=WITH_ROWS,
)
