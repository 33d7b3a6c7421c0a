"""Texts with a doubled start token.

## What it does
Counts the rows whose tokens begin with the start-of-text token twice.

## Why is this bad
The text already contains the token, as a chat template writes it, and the tokenizer adds another. The model has never
seen two: it silently trains on inputs that do not occur in use, and its answers are worse.

## Fix safety
There is no automatic fix. Remove the token from the texts, or provide messages and let the trainer apply the
template.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.rows.scan import Lengths, RowCount, Tokens


def check(tokens: Tokens) -> Iterator[Finding]:
    """Report texts with a doubled start token."""
    if tokens.doubled_start.count:
        verb = "begins" if tokens.rows == 1 else "begin"
        yield Finding(
            "dataset",
            f"{tokens.doubled_start.among(tokens.rows)} {verb} with the start-of-text token twice: it is in the text, "
            f"and the tokenizer adds another",
        )


JOB = """
method: sft
model: meta-llama/Llama-3.2-1B
dataset: data.jsonl
"""
LENGTHS = Lengths(p50=300, p95=700, p99=900, max=1200, mean=333.0)

RULE = Rule(
    code="DAT236",
    name="doubled-start",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "trl 1.16, `data_utils._tokenize`: texts are tokenized with special tokens, conversations without. Tried with a tiny "
        "tokenizer that begins texts with a token: texts that have it have it twice, in `train_dataset` too; rendered "
        "conversations have it once."
    ),
    bad=(
        Case(
            job=JOB,
            facts={"tokens": Tokens(rows=40, lengths=LENGTHS, doubled_start=RowCount(40, (0, 1, 2)))},
            at="dataset",
        ),
        Case(
            job=JOB, facts={"tokens": Tokens(rows=40, lengths=LENGTHS, doubled_start=RowCount(1, (9,)))}, at="dataset"
        ),
    ),
    good=(Case(job=JOB, facts={"tokens": Tokens(rows=40, lengths=LENGTHS)}),),
    kinds=WITH_ROWS,
)
