"""Rows that do not begin with the tokens of their prompt.

## What it does
Tokenizes each prompt by itself, with the opening of an answer, and checks whether the tokens of prompt and answer
together begin with the same.

## Why is this bad
What differs counts as part of the answer, and the end of the prompt, as the model gets it when it is asked, is in no row:
it is trained in one context and used in another. TRL says so once, in a log. Usual causes are a text prompt that ends in
the middle of a token, and a chat template whose opening of an answer is not what it writes before one.

## Fix safety
There is no automatic fix. End text prompts where a token ends, with the space at the beginning of the answer; take a
template that renders a prompt alike in both cases.
"""

from collections.abc import Iterator

from holdfast.core.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.scan import Lengths, RowCount, Tokens


def check(tokens: Tokens) -> Iterator[Finding]:
    """Object to prompts that are no beginning."""
    if tokens.diverged.count:
        verb = "does" if tokens.rows == 1 else "do"
        yield Finding(
            "dataset",
            f"{tokens.diverged.among(tokens.rows)} {verb} not begin with the tokens of the prompt alone: the model is trained "
            f"on another context than it is asked with",
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
