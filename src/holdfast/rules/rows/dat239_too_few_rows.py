"""Too few rows for one batch.

## What it does
Counts the batches that the rows make: for grpo and rloo, batches of prompts that are completed together; for other
methods with `dataloader_drop_last`, whole batches.

## Why is this bad
The trainer drops rows that do not fill a batch. If there is no whole batch, it raises
`args.max_steps must be set to a positive value`, which does not mention rows; with `max_steps` it ends without any
step and without an error.

## Fix safety
There is no automatic fix: use more rows, or a smaller `per_device_train_batch_size`, `gradient_accumulation_steps` or
`generation_batch_size`.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import WITH_ROWS, Case, Finding, MissingFactError, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.job.methods import ONLINE
from holdfast.core.rows.scan import Lengths, RowCount, Tokens


def check(job: Document, tokens: Tokens) -> Iterator[Finding]:
    """Report too few rows for one batch, unless all rows are left out, which another rule reports."""
    if job.get("dataset.mix", None) and not job.get("dataset.rows", None):
        raise MissingFactError("dataset.mix", "the rows of the other datasets are not counted here")
    if job.get("dataset", "") is None or tokens.steps != 0 or tokens.dropped.count == tokens.rows:
        return
    prompts = "prompts" if job.get("method") in ONLINE else "packs" if tokens.packed is not None else "rows"
    yield Finding("dataset", f"{tokens.units} {prompts} do not fill one batch, so the trainer makes no step")


JOB = """
method: grpo
model: Qwen/Qwen2.5-0.5B
dataset: data.jsonl
rewards: [think_format_reward]
"""
LENGTHS = Lengths(p50=30, p95=70, p99=90, max=120, mean=33.0)

RULE = Rule(
    code="DAT239",
    name="too-few-rows",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16, `RepeatSampler`, and transformers 5.23, `set_initial_training_values`. Tried with a tiny model: grpo, rloo "
        "and sft with `dataloader_drop_last` raise ValueError, and with `max_steps` end after 0 steps."
    ),
    bad=(Case(job=JOB, facts={"tokens": Tokens(rows=3, lengths=LENGTHS, units=3, steps=0)}, at="dataset"),),
    good=(
        Case(job=JOB, facts={"tokens": Tokens(rows=40, lengths=LENGTHS, units=40, steps=120)}),
        Case(job=JOB, facts={"tokens": Tokens(rows=40, lengths=LENGTHS)}),
        Case(
            job=JOB.replace("grpo", "dpo"),
            facts={"tokens": Tokens(rows=3, lengths=LENGTHS, dropped=RowCount(3, (0, 1, 2)), units=0, steps=0)},
        ),
    ),
    kinds=WITH_ROWS,
)
