"""Files with rows that cannot be read.

## What it does
Reads every row, and reports each place that cannot be read: a line that is not valid JSON, a truncated file, a value
that does not fit its column, bytes that are not UTF-8.

## Why is this bad
`load_dataset` reads every file to its end before the first step, and raises at the first such place, often without
its line number: `DatasetGenerationError: An error occurred while generating the dataset`.

## Fix safety
There is no automatic fix: the original content is unknown. Fix the place, or remove the row.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.rows.scan import Scan, UnreadablePart

MOST_LISTED = 3


def check(scan: Scan) -> Iterator[Finding]:
    """Report the first unreadable places, and the number of the others."""
    every = len(scan.broken)
    for index, broken in enumerate(scan.broken[:MOST_LISTED], start=1):
        others = f" ({MOST_LISTED} of {every:,} such places are shown)" if index == MOST_LISTED < every else ""
        # A message about a file without any row already names the file.
        message = broken.what if broken.what.startswith(broken.path) else f"{_where(broken)}: {broken.what}"
        yield Finding("dataset", f"{message}{others}")


def _where(broken: UnreadablePart) -> str:
    if broken.line is not None:
        return f"{broken.path}, line {broken.line:,}"
    return broken.path if broken.row is None else f"{broken.path}, row {broken.row:,}"


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
LINE = UnreadablePart("data.jsonl", "no JSON: a comma or a brace is missing", line=17, row=16)
END = UnreadablePart("data.parquet", "the file ends before its footer")

RULE = Rule(
    code="DAT201",
    name="unreadable-rows",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with datasets 5.2: a line without its brace, a NUL byte, half a surrogate pair, Latin-1 bytes, a Parquet file "
        "of 8 bytes; `load_dataset` raises DatasetGenerationError, UnicodeDecodeError or ArrowInvalid."
    ),
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=99, broken=(LINE,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=0, broken=(END,))}, at="dataset"),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=100)}),),
    kinds=WITH_ROWS,
)
