"""Rows without labels, which the trainer keeps.

## What it does
Counts the rows whose labels are all -100, and that the trainer does not drop: without `max_length`, or packed.

## Why is this bad
A batch of such rows has a loss of 0 and a gradient of 0: the step changes nothing, and the run looks successful.

## Fix safety
There is no automatic fix: check the completions of those rows, and the masks or labels in the data.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.rows.scan import Lengths, RowCount, Tokens


def check(tokens: Tokens) -> Iterator[Finding]:
    """Report rows without labels; an error if no row has any."""
    if not tokens.masked.count or tokens.dropped.count:
        return
    every = tokens.masked.count == tokens.rows
    yield Finding(
        "dataset",
        f"{tokens.masked.among(tokens.rows)} {'has' if tokens.rows == 1 else 'have'} nothing to learn from: every label is "
        f"-100, and the loss is 0",
        severity=Severity.ERROR if every else Severity.WARNING,
    )


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
train:
  packing: true
"""


def _facts(masked: int) -> dict[str, object]:
    lengths = Lengths(p50=300, p95=700, p99=900, max=1200, mean=333.0)
    none = RowCount(masked, tuple(range(min(masked, 3))))
    return {"tokens": Tokens(rows=40, lengths=lengths, max_length=1024, masked=none, packed=0.9)}


RULE = Rule(
    code="DAT233",
    name="unlabelled-rows",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "trl 1.16, `SFTTrainer`. Tried with a tiny model: empty completions without `max_length`, labels of -100 that the "
        "data brings along, and packed rows whose prompts are longer than a pack: `loss` and `grad_norm` are logged as 0."
    ),
    bad=(Case(job=JOB, facts=_facts(3), at="dataset"), Case(job=JOB, facts=_facts(40), at="dataset")),
    good=(
        Case(job=JOB, facts=_facts(0)),
        # Left out by the trainer, of which another rule tells.
        Case(
            job=JOB.replace("true", "false"),
            facts={
                "tokens": Tokens(
                    rows=40,
                    lengths=Lengths(p50=300, p95=700, max=1200, mean=333.0),
                    max_length=256,
                    masked=RowCount(4, (1, 2, 3)),
                    dropped=RowCount(4, (1, 2, 3)),
                )
            },
        ),
    ),
    kinds=WITH_ROWS,
)
