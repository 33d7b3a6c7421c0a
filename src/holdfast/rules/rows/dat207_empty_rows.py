"""Empty rows: conversations without messages, or blank texts.

## What it does
Checks the columns that the method's trainer reads for empty lists, and for texts that contain only white space. Blank
answers are reported by `blank-completion`.

An empty list is an error, and so is a column in which every text is blank. Some blank texts are a warning: a file of
plain text has one row per line, and trains. A blank prompt is a warning for grpo and rloo, and a note for other
methods.

## Why is this bad
A conversation without messages raises `IndexError` or
`ValueError: Cannot apply chat template to an empty conversation`, and the job ends. Whether an empty answer beside a
prompt raises varies from one start to the next, because TRL recognizes messages by the first element of a set. A
blank text teaches sft to write nothing; if all texts are blank, loss and gradient are 0. With a tokenizer that adds
no tokens, a blank prompt has no token at all: generation raises for grpo and rloo.

## Fix safety
There is no automatic fix: remove the rows.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, holds_messages, rows_phrase, share
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.job.methods import ONLINE
from holdfast.core.rows.columns import STRING, ListOf, Struct
from holdfast.core.rows.scan import DamagedRows, Scan

ALL = 1.0


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report each column with empty rows."""
    for marked in damaged(job, scan, "empty"):
        what = "an empty list" if holds_messages(scan, marked.column) else "only white space"
        message = rows_phrase(scan, marked, f"{{has}} {what} in `{marked.column}`")
        yield found(marked, message, severity=_severity(job, scan, marked))


def _severity(job: Document, scan: Scan, marked: DamagedRows) -> Severity:
    if holds_messages(scan, marked.column):
        return Severity.ERROR
    if marked.column == "prompt":  # an answer without a question can still be learned
        return Severity.WARNING if job.get("method", None) in ONLINE else Severity.INFO
    return Severity.ERROR if share(scan, marked) >= ALL else Severity.WARNING


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
CHAT = {"messages": ListOf(Struct({"role": STRING, "content": STRING}))}
NO_MESSAGES = DamagedRows("empty", "messages", 2, (17, 99))
BLANK = DamagedRows("empty", "text", 2, (17, 99))

RULE = Rule(
    code="DAT207",
    name="empty-rows",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "Tried with trl 1.16 and transformers 5.23: one empty list, or one blank text, among four rows of sft, dpo, kto, reward, "
        "grpo and rloo; empty lists in either answer of dpo, reward and kto beside a prompt: some raise, some train, as the hashes of the "
        "columns' names fall; four blank texts train sft with loss 0 and gradient 0."
    ),
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=5000, columns=CHAT, marked=(NO_MESSAGES,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=5000, columns={"text": STRING}, marked=(BLANK,))}, at="dataset"),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=5000, columns=CHAT)}),),
    kinds=WITH_ROWS,
)
