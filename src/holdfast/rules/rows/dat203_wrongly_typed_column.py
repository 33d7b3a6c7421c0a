"""Column of a type that no trainer can read there.

## What it does
Checks the columns that the method's trainer reads: whether they hold texts or conversations, whether the content of a
message is text or a list of parts, and whether labels are true or false.

## Why is this bad
A trainer appends a token to a text, and an answer to its prompt. Numbers support neither:
`AttributeError: 'int' object has no attribute 'endswith'`. Labels are summed, which texts do not support. Half of the
chat templates raise at a message whose content is a number; others leave it out. They also raise for lists of texts,
objects, and parts without a `type`, or leave them out, or write them in Python's notation. Name a model to learn what
its template does: other rules then report the messages at which it raises and those that it leaves out.

## Fix safety
There is no automatic fix: only you know what the values mean. Convert them to texts, or to true and false, in a
function that `dataset.map` names.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, holds_messages, rows_phrase
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.columns import STRING, ListOf, Scalar, Struct
from holdfast.core.rows.scan import DamagedRows, Scan

TREATED = "chat templates raise at it, leave it out, or write it in Python's notation"
INSIDE = "says "
"""The beginning of the detail of a message that is not text."""


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report each column of an unreadable type, and labels that are neither 0 nor 1."""
    for marked in damaged(job, scan, "wrong-type"):
        if marked.column == "label" and marked.detail == "number":
            yield found(
                marked,
                rows_phrase(scan, marked, "{has} a `label` other than 0 and 1, which counts as true"),
                severity=Severity.WARNING,
            )
        elif marked.detail.startswith(INSIDE) and holds_messages(scan, marked.column):
            kind = marked.detail.removeprefix(INSIDE)
            what = f"{{has}} {kind} for the `content` of a message in `{marked.column}`"
            message = f"{rows_phrase(scan, marked, what)}; {TREATED}"
            yield found(marked, message, severity=Severity.WARNING)
        else:
            yield found(
                marked, rows_phrase(scan, marked, f"{{has}} values of type {marked.detail} in `{marked.column}`")
            )


JOB = """
method: kto
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
WORD = DamagedRows("wrong-type", "label", 500, (0, 1, 2), "string")
STARS = DamagedRows("wrong-type", "label", 40, (3, 8), "number")
NUMBER = DamagedRows("wrong-type", "prompt", 500, (0, 1, 2), "integer")
SAID = DamagedRows("wrong-type", "prompt", 2, (4, 7), "says a number")
CHAT = {"prompt": ListOf(Struct({"role": STRING, "content": Scalar("integer")}))}

RULE = Rule(
    code="DAT203",
    name="wrongly-typed-column",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16: numbers in each column of sft, dpo, kto, reward and grpo raise; so do words for the labels "
        "of kto, and labels from 0 to 3 train. "
        "Of the 66 chat templates of TRL that write text, 32 raise at a message that says 42 and 12 leave it out; for a list of texts "
        "25 and 16, for an object 25 and 18, for parts without a `type` 14 and 17."
    ),
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=500, marked=(WORD,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=500, marked=(NUMBER,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=500, marked=(STARS,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=500, marked=(SAID,), columns=CHAT)}, at="dataset"),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=500, columns={"label": Scalar("boolean")})}),),
    kinds=WITH_ROWS,
)
