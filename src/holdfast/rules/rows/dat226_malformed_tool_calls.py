"""Tool calls that chat templates cannot write.

## What it does
Checks the `tool_calls` of messages: whether they are objects, whether each has a name, and whether its arguments are
an object too.

## Why is this bad
Templates read the fields of each call. Calls that are text raise `UndefinedError`, or are left out. A missing name is
written as `None`, or raises `TypeError`. Arguments that are JSON text, as in OpenAI's API, raise in the templates of
Qwen3.5 and newer, GLM, Nemotron, and most other new ones.

## Fix safety
There is no automatic fix: convert each to objects with `json.loads`, in a function that `dataset.map` names.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import DamagedRows, Scan

SPELLED = {
    "text": "`tool_calls` that are text, which no template writes",
    "no name": "a tool call without a name",
    "arguments": "tool calls whose arguments are text, not an object",
}


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report each kind of malformed tool call."""
    for marked in damaged(job, scan, "malformed-calls"):
        message = rows_phrase(scan, marked, f"{{has}} {SPELLED[marked.detail]}, in `{marked.column}`")
        yield found(marked, message, severity=Severity.ERROR if marked.detail == "text" else None)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
TEXT = DamagedRows("malformed-calls", "messages", 500, (0, 1, 2), "text")
JSON = DamagedRows("malformed-calls", "messages", 500, (0, 1, 2), "arguments")
NAMELESS = DamagedRows("malformed-calls", "messages", 2, (17, 99), "no name")

RULE = Rule(
    code="DAT226",
    name="malformed-tool-calls",
    explain=__doc__,
    severity=Severity.WARNING,
    may_be_meant=True,
    check=check,
    source=(
        "Tried with trl 1.16: 38 chat templates for text that it has. Calls that are text raise or are left out by all that write "
        "calls; arguments that are JSON raise in 16 that write objects; a name that is null raises in 20, and 8 write None."
    ),
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=500, marked=(TEXT,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=500, marked=(JSON,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=500, marked=(NAMELESS,))}, at="dataset"),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=500)}),),
    kinds=WITH_ROWS,
)
