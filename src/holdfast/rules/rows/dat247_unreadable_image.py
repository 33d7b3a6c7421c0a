"""Images that cannot be read.

## What it does
If there is a column of images, opens each of them with Pillow: files by their paths, and bytes. Paths start in the
folder of the data file; if the dataset is a folder, they start there. The first 1,000 are decoded whole, the headers of
the others are read. Addresses are not fetched, and are reported.

## Why is this bad
The trainer decodes an image when it reaches its row, which may be hours into the training. It then ends with
FileNotFoundError, with `UnidentifiedImageError: cannot identify image file`, or with `OSError: image file is truncated`.

## Fix safety
There is no automatic fix: replace the image, or remove the row.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, MissingFactError, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import DamagedRows, Scan


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report each column with images that cannot be read."""
    if scan.unread_images:
        raise MissingFactError("scan", scan.unread_images)
    for marked in damaged(job, scan, "unreadable-image"):
        what = f"{{has}} an image in `{marked.column}` that cannot be read ({marked.detail})"
        yield found(marked, rows_phrase(scan, marked, what))


JOB = """
method: sft
model: Qwen/Qwen2.5-VL-3B-Instruct
dataset: data.jsonl
"""
DAMAGED = DamagedRows("unreadable-image", "image", 2, (3, 17), "no such file: pictures/3.png")

RULE = Rule(
    code="DAT247",
    name="unreadable-image",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16, datasets 5.2 and a tiny Llava, 8 rows in batches of one: a PNG that is absent, that is text, and that is cut off in its "
        "middle or its last 30 bytes each end the training after 6 steps, where its row is next."
    ),
    bad=(Case(job=JOB, facts={"scan": Scan(rows=500, marked=(DAMAGED,))}, at="dataset"),),
    good=(Case(job=JOB, facts={"scan": Scan(rows=500)}),),
    kinds=WITH_ROWS,
)
