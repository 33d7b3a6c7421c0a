"""`assistant_only_loss` without marked assistant turns.

## What it does
With `assistant_only_loss`, checks whether the chat template marks what the assistant says, with `{% generation %}`,
or TRL has a marked copy of the template; and whether every row has a marked token.

## Why is this bad
The trainer raises ValueError before training, or RuntimeError at the first row without a marked token: after the
model is loaded and the data is tokenized up to that row.

## Fix safety
There is no automatic fix. In the template, put `{% generation %}` and `{% endgeneration %}` around what the assistant
says and its end-of-turn token, and name the file in `model.chat_template`. Remove rows in which the assistant says
nothing.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.rows.scan import Lengths, RowCount, Tokens

KEY = "train.assistant_only_loss"


def check(tokens: Tokens) -> Iterator[Finding]:
    """Report a template that marks no assistant turns, and rows without a marked token."""
    if tokens.failed.count >= tokens.rows:
        return  # there is no template, or it refuses every row, which DAT238 reports
    if tokens.marks_assistant is False:
        yield Finding(
            KEY,
            "the chat template does not mark what the assistant says with `{% generation %}`, and TRL has no marked copy "
            "of it",
        )
    elif tokens.unmarked.count:
        yield Finding(
            KEY, f"in {tokens.unmarked.among(tokens.rows)}, the assistant says nothing, and the trainer raises"
        )


JOB = """
method: sft
model: ./tiny
dataset: data.jsonl
train:
  assistant_only_loss: true
"""
LENGTHS = Lengths(p50=300, p95=700, p99=900, max=1200, mean=333.0)

RULE = Rule(
    code="DAT234",
    name="unmarked-assistant",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16, `get_training_chat_template` and `SFTTrainer._prepare_dataset`. Tried with a tiny model: a template "
        "without markers raises ValueError in the constructor; one row without an assistant turn raises RuntimeError."
    ),
    bad=(
        Case(job=JOB, facts={"tokens": Tokens(rows=40, lengths=LENGTHS, marks_assistant=False)}, at=KEY),
        Case(
            job=JOB,
            facts={"tokens": Tokens(rows=40, lengths=LENGTHS, marks_assistant=True, unmarked=RowCount(1, (7,)))},
            at=KEY,
        ),
    ),
    good=(
        Case(job=JOB, facts={"tokens": Tokens(rows=40, lengths=LENGTHS, marks_assistant=True)}),
        Case(
            job=JOB,
            facts={"tokens": Tokens(rows=40, lengths=LENGTHS, marks_assistant=False, failed=RowCount(40, (0,)))},
        ),
        Case(job=JOB.replace("true", "false"), facts={"tokens": Tokens(rows=40, lengths=LENGTHS)}),
    ),
    kinds=WITH_ROWS,
)
