"""Rows that the trainer drops.

## What it does
Counts the rows that the trainer itself drops: for sft, those that `max_length` leaves without a label; for dpo and
kto, those whose prompt alone fills it; for reward, pairs in which an answer is longer.

## Why is this bad
No message says that rows are dropped: training uses fewer rows, and only the short ones. If all are dropped, the
trainer raises `num_samples should be a positive integer value`; that of kto ends at once, as if it had trained.

## Fix safety
There is no automatic fix. Raise `max_length`, or shorten the prompts.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import Lengths, RowCount, Tokens

KEY = "train.max_length"
WHY = {
    "sft": "have nothing to learn from within",
    "dpo": "have a prompt that fills",
    "kto": "have a prompt that fills",
    "reward": "have an answer that is longer than",
}


def check(job: Document, tokens: Tokens) -> Iterator[Finding]:
    """Report rows that the trainer drops; an error if it drops all."""
    method = str(job.get("method"))
    if not tokens.dropped.count or method not in WHY or job.get(KEY, tokens.max_length) is None:
        return
    every = tokens.dropped.count == tokens.rows
    yield Finding(
        KEY,
        f"{tokens.dropped.among(tokens.rows)} {WHY[method]} the {tokens.max_length} tokens of `max_length`, and the trainer "
        f"drops them{': nothing is left to train on' if every else ''}; half of the rows have up to "
        f"{tokens.lengths.p50} tokens, 95 in 100 up to {tokens.lengths.p95}",
        severity=Severity.ERROR if every else Severity.WARNING,
    )


JOB = """
method: reward
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/ultrafeedback_binarized
train:
  max_length: 512
"""


def _facts(dropped: int) -> dict[str, object]:
    lengths = Lengths(p50=300, p95=700, p99=900, max=1200, mean=333.0)
    left_out = RowCount(dropped, tuple(range(min(dropped, 3))))
    return {"tokens": Tokens(rows=40, lengths=lengths, max_length=512, dropped=left_out)}


RULE = Rule(
    code="DAT232",
    name="rows-left-out",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "trl 1.16, the filters in `_prepare_dataset` of `SFTTrainer`, `DPOTrainer`, `KTOTrainer` and `RewardTrainer`. Tried "
        "with a tiny model: the rows are gone without a word; with all gone, sft, dpo and reward raise ValueError when "
        "training begins, and kto ends after 0 steps."
    ),
    bad=(
        Case(job=JOB, facts=_facts(9), at=KEY),
        Case(job=JOB, facts=_facts(40), at=KEY),
        Case(job=JOB.replace("reward", "sft"), facts=_facts(9), at=KEY),
        Case(job=JOB.replace("reward", "dpo"), facts=_facts(9), at=KEY),
    ),
    good=(Case(job=JOB, facts=_facts(0)),),
    kinds=WITH_ROWS,
)
