"""Rows that the trainer truncates.

## What it does
Counts the rows with more tokens than `max_length`, and reports how long rows are.

## Why is this bad
The trainer truncates them silently. The model does not learn the truncated part, which is the end of the answer and
its end token: a model whose rows are often truncated does not learn to stop. The default of `max_length` is 1024.

## Fix safety
There is no automatic fix: a higher `max_length` takes more memory. The message gives the values that keep 95 and 99
in 100 rows.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import Lengths, Tokens, render_share

KEY = "train.max_length"
FEW = 0.01
"""A smaller share of rows is information, not a warning."""


def check(job: Document, tokens: Tokens) -> Iterator[Finding]:
    """Report the number of truncated rows, and their lengths."""
    if not tokens.truncated or job.get(KEY, tokens.max_length) is None or tokens.max_length is None:
        return
    share = tokens.truncated / tokens.rows
    end = "beginning" if job.get("train.truncation_mode", None) == "keep_end" else "end"
    yield Finding(
        KEY,
        f"{tokens.truncated} of {tokens.rows} rows ({render_share(tokens.truncated, tokens.rows)}) are longer than the {tokens.max_length} tokens of "
        f"`max_length` and lose their {end}; {_spell(tokens.lengths, tokens.max_length)}",
        severity=Severity.WARNING if share >= FEW else Severity.INFO,
    )


def _spell(lengths: Lengths, max_length: int) -> str:
    """Return the row lengths as a phrase that helps to choose `max_length`."""
    quantiles = ((50, lengths.p50), (95, lengths.p95), (99, lengths.p99))
    keeps = {length: percent for percent, length in quantiles if length and max_length < length < lengths.max}
    longer = [f"{length} would keep {percent} in 100 whole" for length, percent in keeps.items()]
    return ", ".join((*longer, f"the longest has {lengths.max}"))


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  max_length: 1024
"""
LONG = Lengths(p50=400, p95=1300, p99=2900, max=8000, mean=520.0)
SHORT = Lengths(p50=200, p95=600, p99=900, max=1024, mean=240.0)

RULE = Rule(
    code="DAT231",
    name="cut-rows",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "trl 1.16, `_prepare_dataset` of `SFTTrainer` and the collators of `DPOTrainer` and `KTOTrainer`. Tried: each cuts "
        "rows of a tiny model's tokens at `max_length` and says nothing."
    ),
    bad=(
        Case(
            job=JOB,
            facts={"tokens": Tokens(rows=1000, lengths=LONG, max_length=1024, truncated=83)},
            at=KEY,
        ),
    ),
    good=(
        Case(job=JOB, facts={"tokens": Tokens(rows=1000, lengths=SHORT, max_length=1024)}),
        Case(job=JOB.replace("1024", "null"), facts={"tokens": Tokens(rows=1000, lengths=LONG)}),
    ),
    kinds=WITH_ROWS,
)
