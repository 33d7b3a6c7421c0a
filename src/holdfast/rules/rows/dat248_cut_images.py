"""Rows whose images alone are longer than `max_length`.

## What it does
If the model has a processor, and the data has images, compares the number of tokens that the images of each row become
with the `max_length` of `SFTTrainer`, which is 1024 by default.

## Why is this bad
The trainer cuts the row in the middle of an image. It then ends with ValueError when it reaches the row: `Mismatch in
image token count between text and input_ids` for messages, and `The current max_length is too short and causes image
placeholder tokens in input_ids to be truncated` for prompts with completions.

## Fix safety
There is no automatic fix: `max_length: null` keeps whole rows, which takes more memory; or let the processor make the
images smaller.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import DamagedRows, Scan


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report each column with images that alone are longer than `max_length`."""
    for marked in damaged(job, scan, "images-beyond-max-length"):
        what = f"{{has}} images in `{marked.column}` with up to {marked.detail}"
        yield found(marked, rows_phrase(scan, marked, what))


JOB = """
method: sft
model: Qwen/Qwen2.5-VL-3B-Instruct
dataset: data.jsonl
"""
CUT = DamagedRows("images-beyond-max-length", "image", 2, (3, 17), "1,369 tokens, more than `max_length` (1,024)")

RULE = Rule(
    code="DAT248",
    name="cut-images",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16, transformers 5.23 and a tiny Llava whose images are 16 tokens: `max_length` 8 raises ValueError at the first step, for "
        "messages and for prompts with completions; 24 trains."
    ),
    bad=(Case(job=JOB, facts={"scan": Scan(rows=500, marked=(CUT,))}, at="dataset"),),
    good=(Case(job=JOB, facts={"scan": Scan(rows=500)}),),
    kinds=WITH_ROWS,
)
