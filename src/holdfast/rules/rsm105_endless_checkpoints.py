"""`save_total_limit` that limits nothing.

## What it does
Checks for a `save_total_limit` of 0 or less.

## Why is this bad
It looks like "keep none", but means no limit: every checkpoint is kept until the disk is full. With the optimizer, each is
about three times as large as the weights.

## Fix safety
The fix is unsafe: a limit of one keeps the last checkpoint, and the best one beside it, and the deleted checkpoints
cannot be restored.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set

KEY = "train.save_total_limit"


def check(job: Document) -> Iterator[Finding]:
    """Report a `save_total_limit` that limits nothing."""
    limit = job.get(KEY, None)
    if not isinstance(limit, int) or isinstance(limit, bool) or limit > 0:
        return
    if job.get("train.save_strategy", None) != "no":
        fix = Fix("keep the last", (Set(KEY, 1),), safe=False)
        yield Finding(KEY, f"{limit} means no limit: every checkpoint is kept", fix)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  save_total_limit: 1
"""
SCRIPT = """
from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=SFTConfig(output_dir="out", save_total_limit=1), train_dataset=rows)
"""

RULE = Rule(
    code="RSM105",
    name="endless-checkpoints",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "transformers 5.23, `rotate_checkpoints`. Tried: of four checkpoints 0 and -1 left four, and 1 left the "
        "last; where another was the best, 1 leaves both by the code that was read."
    ),
    kinds=ANY_KIND,
    bad=(
        Case(script=SCRIPT.replace("limit=1", "limit=0"), at=KEY, fixed=SCRIPT),
        Case(job=JOB.replace(": 1", ": 0"), at=KEY, fixed=JOB),
    ),
    good=(Case(script=SCRIPT), Case(script=SCRIPT.replace("limit=1", 'limit=0, save_strategy="no"')), Case(job=JOB)),
)
