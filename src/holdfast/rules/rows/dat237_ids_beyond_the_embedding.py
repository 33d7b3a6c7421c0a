"""Tokens without an embedding in the model.

## What it does
Checks the token ids of all rows against the vocabulary size in the model's config.

## Why is this bad
The first batch with such a token raises `IndexError: index out of range in self`; on a GPU it is
`device-side assert triggered`, at an unrelated place. The cause is a tokenizer with added tokens whose model was not
resized, or the tokenizer of another model.

## Fix safety
There is no automatic fix. Use the model's own tokenizer, or resize the model's embedding and save both together.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.rows.scan import Lengths, RowCount, Tokens


def check(tokens: Tokens) -> Iterator[Finding]:
    """Report token ids without an embedding."""
    if tokens.beyond.count:
        yield Finding(
            "model",
            f"the model's embedding has {tokens.embedding} ids, and {tokens.beyond.among(tokens.rows)} "
            f"{'has' if tokens.beyond.count == 1 else 'have'} one that is higher, up to {tokens.highest}",
        )


JOB = """
method: sft
model: ./grown
dataset: data.jsonl
"""
LENGTHS = Lengths(p50=300, p95=700, p99=900, max=1200, mean=333.0)

RULE = Rule(
    code="DAT237",
    name="ids-beyond-the-embedding",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16 and a tiny model whose tokenizer got one more token: sft, dpo, reward and grpo raise IndexError "
        "in the embedding."
    ),
    bad=(
        Case(
            job=JOB,
            facts={"tokens": Tokens(rows=40, lengths=LENGTHS, beyond=RowCount(2, (5, 8)), highest=512, embedding=512)},
            at="model",
        ),
    ),
    good=(Case(job=JOB, facts={"tokens": Tokens(rows=40, lengths=LENGTHS, highest=511, embedding=512)}),),
    kinds=WITH_ROWS,
)
