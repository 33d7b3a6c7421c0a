"""Column with rows of different types.

## What it does
Checks the columns that the method's trainer reads for rows that are texts in some places, and numbers, lists or
objects in others.

## Why is this bad
Since datasets 5 such a file loads: the column's type is `Json`. A text that is itself JSON is then parsed: `"7"`
becomes the number 7, `"null"` becomes None, and only other texts stay unchanged. The trainer treats all rows as it
treats the first one, and raises at the first row of another type.

## Fix safety
There is no automatic fix: only you know what the odd rows should be.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.columns import STRING, Scalar
from holdfast.core.rows.scan import DamagedRows, Scan


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report each column with values of different types."""
    for marked in damaged(job, scan, "mixed-types"):
        yield found(marked, rows_phrase(scan, marked, f"{{is_}} of another type in `{marked.column}`"))


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
ODD = DamagedRows("mixed-types", "text", 2, (41, 107))

RULE = Rule(
    code="DAT204",
    name="mixed-types",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16 and datasets 5.2: JSON Lines whose `text` is a number or a list in every other row load as "
        "`Json(decode=True)`, and `SFTTrainer` raises AttributeError. The texts `7`, `1.0`, `true`, `null` and `[1]` beside a number "
        "come as 7, 1.0, True, None and [1]."
    ),
    bad=(
        Case(
            job=JOB,
            facts={"scan": Scan(rows=500, columns={"text": Scalar("json")}, marked=(ODD,))},
            at="dataset",
        ),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=500, columns={"text": STRING})}),),
    kinds=WITH_ROWS,
)
