"""Dataset without rows.

## What it does
Counts the rows of the split that the job trains on.

## Why is this bad
Most of TRL's trainers read the first row of the dataset while they are built. If there is none, they raise
`StopIteration`, without a message.

## Fix safety
There is no automatic fix: check the split, the files, and any filters.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.rows.scan import Scan, UnreadablePart


def check(scan: Scan) -> Iterator[Finding]:
    """Report a dataset without rows, unless it has unreadable rows, which DAT201 reports."""
    if not scan.rows and not scan.broken:
        yield Finding("dataset", "there are no rows to train on")


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""

RULE = Rule(
    code="DAT202",
    name="no-rows",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="Tried with trl 1.16 and datasets 5.2: a file without lines, and a list of no rows for `SFTTrainer`.",
    bad=(Case(job=JOB, facts={"scan": Scan(rows=0)}, at="dataset"),),
    good=(
        Case(job=JOB, facts={"scan": Scan(rows=1)}),
        Case(job=JOB, facts={"scan": Scan(rows=0, broken=(UnreadablePart("data.jsonl", "no JSON", line=1),))}),
    ),
    kinds=WITH_ROWS,
)
