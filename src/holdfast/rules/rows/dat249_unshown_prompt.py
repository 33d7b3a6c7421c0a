"""Column of a question, its context or a system message that the model is not shown.

## What it does
Looks for columns of texts with the name of a question (`question`, `instruction`), of its context (`context`, `input`) or
of a system message (`system`) that the method's trainer does not read, and whose words stand in no column that it reads.

## Why is this bad
Trainers read columns by fixed names, and ignore others without a word. Of `question`, `chosen` and `rejected`, dpo and kto
take the first words that both answers share for the prompt, and the model never sees the question.

## Fix safety
There is no automatic fix: put the words into the column that is read, with `dataset.map`.
`holdfast inspect DATA --method METHOD` writes the function if it recognizes the columns.
"""

from collections.abc import Iterator
from typing import Final

from holdfast.catalog.data.scanned import require_rows_as_read
from holdfast.catalog.formats.words import CONTEXTS, SYSTEMS, plain_name
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.columns import STRING
from holdfast.core.rows.scan import DamagedRows, Scan

READ: Final = ("prompt", "messages", "text")
"""Columns that the model is shown, and that may be extended: the first that is there is read."""


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report the columns; where answers share no beginning, DAT217 names them."""
    if not scan.unshown or any(each.mark == "no-prompt-prefix" for each in scan.marked):
        return
    require_rows_as_read(job)
    names = ", ".join(f"`{name}`" for name in scan.unshown)
    them = "them" if len(scan.unshown) > 1 else "it"
    pairs = "chosen" in scan.columns and job.get("method", None) != "sft"
    yield Finding("dataset", f"the model is not shown {names}: put {them} into {_place(scan, pairs=pairs)}")


def _place(scan: Scan, *, pairs: bool) -> str:
    """Return where the words of columns that the model is not shown belong; a lone question beside pairs can be renamed."""
    if pairs and "prompt" not in scan.columns:
        questions = [name for name in scan.unshown if plain_name(name) not in (*SYSTEMS, *CONTEXTS)]
        return "the prompt" + (", for example by the name `prompt`" if scan.unshown == tuple(questions[:1]) else "")
    return next((f"`{name}`" for name in READ if name in scan.columns), "the prompt")


JOB = """
method: dpo
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
PAIR = {"question": STRING, "chosen": STRING, "rejected": STRING}
LOST = Scan(rows=60, columns=PAIR, unshown=("question",))
APART = Scan(
    rows=60, columns=PAIR, unshown=("question",), marked=(DamagedRows("no-prompt-prefix", "chosen", 3, (3, 17, 99)),)
)
TWO = Scan(rows=60, columns={"system": STRING, **PAIR}, unshown=("system", "question"))

RULE = Rule(
    code="DAT249",
    name="unshown-prompt",
    explain=__doc__,
    severity=Severity.WARNING,
    may_be_meant=True,
    check=check,
    source=(
        "trl 1.16. Tried on pairs that begin alike with `question`, `system` or `context` beside them, in dpo, kto, reward and sft: "
        "the words are in no token, and `extract_prompt` makes `The capital of France is` the prompt of two answers."
    ),
    bad=(
        Case(job=JOB, facts={"scan": LOST}, at="dataset"),
        Case(job=JOB, facts={"scan": TWO}, at="dataset"),
    ),
    good=(
        Case(job=JOB, facts={"scan": Scan(rows=60, columns=PAIR)}),
        Case(job=JOB, facts={"scan": APART}),
    ),
    kinds=WITH_ROWS,
)
