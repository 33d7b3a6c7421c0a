"""Rows that are longer than the model's number of positions.

## What it does
Counts the rows that, truncated at `max_length`, have more tokens than the model's `config.json` has positions.

## Why is this bad
GPT-2, OPT and others look positions up in a table: the first longer row raises IndexError, wherever it is in the
data. A model that rotates its positions (RoPE) accepts the row, and generates poor text beyond the positions that it
was trained with.

## Fix safety
There is no automatic fix. Set `max_length` to the number of positions at most, or use a model, or a RoPE scaling,
with more.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.rows.scan import Lengths, RowCount, Tokens

KEY = "train.max_length"


def check(tokens: Tokens) -> Iterator[Finding]:
    """Report the rows; an error where the first of them raises."""
    if not tokens.beyond_positions.count:
        return
    verb = "has" if tokens.beyond_positions.count == 1 else "have"
    effect = "the first of them raises" if tokens.positions_raise else "the model gives poor text beyond them"
    yield Finding(
        KEY,
        f"{tokens.beyond_positions.among(tokens.rows)} {verb} more tokens than the {tokens.positions} positions of the model, up to "
        f"{min(tokens.lengths.max, tokens.max_length or tokens.lengths.max)}: {effect}",
        rows=tokens.beyond_positions.rows,
        severity=Severity.ERROR if tokens.positions_raise else Severity.WARNING,
    )


JOB = """
method: sft
model: openai-community/gpt2
dataset: trl-lib/Capybara
train:
  max_length: null
"""
LENGTHS = Lengths(p50=300, p95=1700, p99=1900, max=2200, mean=533.0)


def _past(count: int, *, raises: bool) -> dict[str, object]:
    past = RowCount(count, tuple(range(min(count, 3))))
    return {"tokens": Tokens(rows=40, lengths=LENGTHS, positions=1024, positions_raise=raises, beyond_positions=past)}


RULE = Rule(
    code="DAT244",
    name="rows-beyond-positions",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "Tried with trl 1.16, transformers 5.23 and tiny models of 64 positions: rows of 320 tokens raise with GPT-2, OPT, GPT-Neo, "
        "GPT-BigCode, BioGPT, CodeGen, GPT-J and MPT; Llama, Phi, Phi 3, GPT-NeoX, Falcon and Qwen2 train."
    ),
    bad=(
        Case(job=JOB, facts=_past(7, raises=True), at=KEY),
        Case(job=JOB, facts=_past(7, raises=False), at=KEY),
    ),
    good=(Case(job=JOB, facts=_past(0, raises=True)),),
    kinds=WITH_ROWS,
)
