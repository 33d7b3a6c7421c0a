"""List or record content that the chat template writes in Python's notation.

## What it does
Renders rows with the chat template, and checks for messages whose content is not text and appears in the result as
`[{'type': 'text', 'text': …}]`.

## Why is this bad
A template for text writes any value it gets. The model learns to read and to write brackets, quotes and field names.
Usual causes are a file in which `content` is a text in one row and a list of parts in the next, and parts in the
format of vision models for a model that reads only text.

## Fix safety
There is no automatic fix. Extract the text from each list or record in a function that `dataset.map` names.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.rows.scan import Lengths, RowCount, Tokens


def check(tokens: Tokens) -> Iterator[Finding]:
    """Report the rows with such messages."""
    if tokens.spelled.count:
        verb = "has" if tokens.spelled.count == 1 else "have"
        yield Finding(
            "dataset",
            f"{tokens.spelled.among(tokens.rows)} {verb} a message whose `content` is a list or a record, and the chat template "
            f"writes it in Python's notation, brackets and quotes included",
            rows=tokens.spelled.rows,
            count=tokens.spelled.count,
        )


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
"""
LENGTHS = Lengths(p50=300, p95=700, p99=900, max=1200, mean=333.0)

RULE = Rule(
    code="DAT243",
    name="spelled-content",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16 and datasets 5.2: `SFTTrainer` with a ChatML template trains on `[{'type': 'text', 'text': …}]` where "
        "`content` is a text in one row and a list in the next; templates of vision models write the text of each part."
    ),
    bad=(
        Case(
            job=JOB, facts={"tokens": Tokens(rows=40, lengths=LENGTHS, spelled=RowCount(20, (1, 3, 5)))}, at="dataset"
        ),
    ),
    good=(Case(job=JOB, facts={"tokens": Tokens(rows=40, lengths=LENGTHS)}),),
    kinds=WITH_ROWS,
)
