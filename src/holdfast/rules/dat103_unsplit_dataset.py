"""Dictionary of splits where a single split is needed.

## What it does
Checks for a `load_dataset()` without a `split` whose result, mapped and filtered or not, is the trainer's
`train_dataset`.

## Why is this bad
Without `split`, `load_dataset` returns a dictionary of all splits. The trainer raises: TRL 1.10 and later name the
problem when the trainer is built; older releases and transformers' own trainer raise `KeyError` when they read the
first row.

## Fix safety
The fix is unsafe: it adds `split="train"`, which exists in a dataset of one file and in most others, but not in all.
"""

import re
from collections.abc import Iterator

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import CallResult
from holdfast.core.job.document import ABSENT, Document, Set

# Methods that return a dictionary if they are called on one.
WHOLE = re.compile(
    r"datasets\.load_dataset(\(\)\.(map|filter|shuffle|sort|cast|cast_column|rename_columns?|remove_columns|select_columns))*"
)
SPLIT = 4  # the position of `split` among load_dataset's parameters


def check(job: Document) -> Iterator[Finding]:
    """Report a dictionary of splits where one split is needed."""
    trainer = job.call("trainer")
    given = trainer.arguments.get("train_dataset") if trainer else None
    loads = [call for call in job.calls if call.path == "datasets.load_dataset"]
    if not isinstance(given, CallResult) or not WHOLE.fullmatch(given.path) or len(loads) != 1:
        return
    load = loads[0]
    if load.open or load.guard.because or len(load.positional) > SPLIT:
        return
    if job.get(f"{load.key}.split", ABSENT) in (ABSENT, None):
        fix = Fix("take the split `train`", (Set(f"{load.key}.split", "train"),), safe=False)
        fault = "this returns a dictionary of splits, but the trainer needs one split: name the `split`"
        yield Finding(load.key, fault, fix, place=load.name_place)


SCRIPT = """from datasets import load_dataset
from trl import SFTTrainer

rows = load_dataset("trl-lib/Capybara", split="train")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", train_dataset=rows)
"""
WHOLE_SET = SCRIPT.replace(', split="train"', "")

RULE = Rule(
    code="DAT103",
    name="unsplit-dataset",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.10, `SFTTrainer.__init__`. Tried with trl 1.16 and transformers 5.23: sft, dpo and grpo raise TypeError, a plain "
        "Trainer KeyError; an evaluation set may be a dictionary."
    ),
    bad=(
        Case(script=WHOLE_SET, at="dataset", fixed=SCRIPT),
        Case(
            script=WHOLE_SET.replace("dataset=rows", "dataset=rows.map(clean)"),
            at="dataset",
            fixed=SCRIPT.replace("dataset=rows", "dataset=rows.map(clean)"),
        ),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=WHOLE_SET.replace("dataset=rows", 'dataset=rows["train"]')),
        Case(script=WHOLE_SET.replace("dataset=rows", "dataset=prepare(rows)")),
    ),
    kinds=PROGRAMS,
)
