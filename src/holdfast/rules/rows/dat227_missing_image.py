"""Rows that lack an image.

## What it does
If there is a column of images, counts the images of each row, and the placeholders for them in its messages: parts of
type `image` without an image.

## Why is this bad
If there are more placeholders than images, TRL raises
`ValueError: Number of images provided (0) does not match number of image placeholders (1)` when it reaches that row,
which may be hours into the training. A row without any image and without a placeholder trains on its text alone.

## Fix safety
There is no automatic fix: find the image, or remove the row.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import DamagedRows, Scan

FEWER = "fewer than the messages ask for"


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report each column with missing images."""
    for marked in damaged(job, scan, "missing-image"):
        fewer = marked.detail == FEWER
        what = (
            f"{{has}} fewer images in `{marked.column}` than placeholders"
            if fewer
            else f"{{has}} no image in `{marked.column}`"
        )
        yield found(marked, rows_phrase(scan, marked, what), severity=None if fewer else Severity.WARNING)


JOB = """
method: sft
model: Qwen/Qwen2.5-VL-3B-Instruct
dataset: data.parquet
"""
LACKING = DamagedRows("missing-image", "images", 3, (3, 17, 99), FEWER)
NONE = DamagedRows("missing-image", "images", 3, (3, 17, 99), "none")

RULE = Rule(
    code="DAT227",
    name="missing-image",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16, `prepare_multimodal_messages`: a message with a place and no image, null, or two images raises; "
        "one of plain text takes any number."
    ),
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=500, marked=(LACKING,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=500, marked=(NONE,))}, at="dataset"),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=500)}),),
    kinds=WITH_ROWS,
)
