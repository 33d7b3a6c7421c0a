"""Rows that do not begin with the tokens of their prompt.

## What it does
Tokenizes each prompt by itself, with the opening of an answer, and checks whether the tokens of prompt and answer
together begin with the same tokens.

## Why is this bad
Tokens that differ count as part of the answer, and no row contains the end of the prompt as the model gets it in use:
the model is trained in one context and used in another. TRL mentions it once, in a log. Usual causes are a text
prompt that ends in the middle of a token, and a chat template whose opening of an answer differs from what it writes
before an answer.

## Fix safety
There is no automatic fix. End text prompts at a token boundary, with the space at the beginning of the answer; use a
template that renders a prompt alike in both cases.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.rows.scan import Lengths, RowCount, Tokens


def check(tokens: Tokens) -> Iterator[Finding]:
    """Report rows that do not begin with the tokens of their prompt."""
    if tokens.diverged.count:
        verb = "does" if tokens.rows == 1 else "do"
        yield Finding(
            "dataset",
            f"{tokens.diverged.among(tokens.rows)} {verb} not begin with the tokens of the prompt alone: the model is trained "
            f"in another context than it is used in",
        )


JOB = """
method: sft
model: ./tiny
dataset: data.jsonl
"""
LENGTHS = Lengths(p50=300, p95=700, p99=900, max=1200, mean=333.0)

RULE = Rule(
    code="DAT241",
    name="diverging-prompts",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "trl 1.16, `common_prefix_length` and the warnings beside its calls in the trainers of sft, dpo and kto. Tried with a "
        "tiny model and a template that opens an answer with an empty thought: TRL warns, and the thought is in no row."
    ),
    bad=(
        Case(
            job=JOB, facts={"tokens": Tokens(rows=40, lengths=LENGTHS, diverged=RowCount(40, (0, 1, 2)))}, at="dataset"
        ),
    ),
    good=(Case(job=JOB, facts={"tokens": Tokens(rows=40, lengths=LENGTHS)}),),
    kinds=WITH_ROWS,
)
