"""Unpaired preferences with far more of one kind than of the other.

## What it does
Counts the labels of data that kto reads as prompt, completion and label, unless the job sets `desirable_weight` or
`undesirable_weight`.

## Why is this bad
The rarer kind has little weight. TRL also warns, and recommends weights with which both kinds count equally.

## Fix safety
There is no automatic fix: the right weight depends on what an error of each kind costs you.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import DamagedRows, Scan

UNEVEN = 10.0
"""The largest ratio of one kind to the other. TRL warns from 1.33 on."""
WEIGHTS = {"true": "desirable_weight", "false": "undesirable_weight"}


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report labels that are very uneven and not weighted."""
    if any(job.get(f"train.{weight}", None) is not None for weight in WEIGHTS.values()):
        return
    for marked in damaged(job, scan, "uneven-classes"):
        ratio = (scan.rows - marked.count) / marked.count if marked.count else 0.0
        if ratio >= UNEVEN:
            message = f"the `label` of {marked.count:,} of {scan.rows:,} rows is {marked.detail}"
            yield found(marked, f"{message}: `{WEIGHTS[marked.detail]}: {ratio:.3g}` would make up for it")


JOB = """
method: kto
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
FEW = Scan(rows=5000, marked=(DamagedRows("uneven-classes", "label", 100, detail="false"),))
SOME = Scan(rows=5000, marked=(DamagedRows("uneven-classes", "label", 1000, detail="false"),))

RULE = Rule(
    code="DAT222",
    name="uneven-classes",
    explain=__doc__,
    severity=Severity.INFO,
    may_be_meant=True,
    check=check,
    source="trl 1.16, `KTOTrainer._prepare_dataset`, read: Eq. 8 of the KTO paper, which asks for weights within 1 and 1.33.",
    bad=(Case(job=JOB, facts={"scan": FEW}, at="dataset"),),
    good=(
        Case(job=JOB, facts={"scan": SOME}),
        Case(job=f"{JOB}train: {{undesirable_weight: 40.0}}\n", facts={"scan": FEW}),
    ),
    kinds=WITH_ROWS,
)
