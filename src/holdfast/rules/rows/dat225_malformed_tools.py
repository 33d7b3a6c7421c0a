"""`tools` column that holds neither a list of schemas nor its JSON.

## What it does
Checks the column `tools`, in which each row may have a list of schemas or its JSON, or null for none.

## Why is this bad
The trainers of sft, dpo, kto and reward parse a text in that column as JSON. They raise `JSONDecodeError` if it is
not JSON, such as an empty text or a list in Python's notation. In conversations it must be a list of objects:
transformers raises `ValueError: Tools should either be a JSON schema, or a callable function` for anything else.

## Fix safety
There is no automatic fix: write the `json.dumps` of the list of schemas.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import DamagedRows, Scan


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report each kind of malformed `tools` column."""
    for marked in damaged(job, scan, "malformed-tools"):
        yield found(marked, rows_phrase(scan, marked, f"{{has}} `tools` that are {marked.detail}"))


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
TEXT = DamagedRows("malformed-tools", "tools", 3, (3, 17, 99), "not JSON")
OBJECT = DamagedRows("malformed-tools", "tools", 500, (0, 1, 2), "not a list of objects")

RULE = Rule(
    code="DAT225",
    name="malformed-tools",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16 and transformers 5.23: one row among four with words, an empty text, a printed list, an object or "
        "a name, in sft, dpo, kto and reward; null trains, and so does anything in grpo, which does not read it."
    ),
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=500, marked=(TEXT,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=500, marked=(OBJECT,))}, at="dataset"),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=500)}),),
    kinds=WITH_ROWS,
)
