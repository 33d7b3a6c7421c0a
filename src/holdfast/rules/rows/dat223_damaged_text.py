"""Text with a broken encoding.

## What it does
Checks for U+FFFD, which replaces a lost character; for UTF-8 that was decoded with another encoding; for control
characters other than tabs, line ends and those of terminals; and for half surrogate pairs written out as text.

## Why is this bad
Nothing raises: the model learns to write the damaged characters. In a few rows they may be intended, in texts about
encodings; in one row of a hundred, a step of the data preparation went wrong.

## Fix safety
There is no automatic fix: read the original again with its own encoding. Characters that U+FFFD replaced are lost.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase, share
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import DamagedRows, Scan

MANY = 0.01


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report each kind of damage; a warning if it is common."""
    for marked in damaged(job, scan, "encoding"):
        message = rows_phrase(scan, marked, f"{{has}} damaged text in `{marked.column}` ({marked.detail})")
        yield found(marked, message, severity=Severity.WARNING if share(scan, marked) >= MANY else None)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
MOJIBAKE = DamagedRows("encoding", "text", 4000, (0, 3, 7), "UTF-8 read as another encoding")
LOST = DamagedRows("encoding", "text", 2, (17, 99), "U+FFFD, where a character was lost")

RULE = Rule(
    code="DAT223",
    name="damaged-text",
    explain=__doc__,
    severity=Severity.INFO,
    may_be_meant=True,
    check=check,
    source="Tried with trl 1.16: a row with a NUL character and U+FFFD trains sft as any other.",
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=5000, marked=(MOJIBAKE,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=5000, marked=(LOST,))}, at="dataset"),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=5000)}),),
    kinds=WITH_ROWS,
)
