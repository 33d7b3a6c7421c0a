"""Resuming from a folder to which nothing saves checkpoints.

## What it does
Checks for `trainer.train(resume_from_checkpoint=True)` together with `save_strategy="no"`.

## Why is this bad
`True` stands for the last checkpoint in `output_dir`, and the trainer raises ValueError if there is none: "No valid
checkpoint found in output directory". This run saves none, so every start of it fails, unless another run saved some
to the same folder.

## Fix safety
There is no automatic fix: either you want checkpoints (`save_strategy="steps"`), or there is nothing to resume.
"""

from collections.abc import Iterator

from holdfast.catalog.calls.resuming import checkpoint_key, checkpoint_place, given_checkpoint, trainings
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document) -> Iterator[Finding]:
    """Report a run that resumes from a folder to which nothing saves."""
    if job.get("train.save_strategy", None) != "no":
        return
    for call in trainings(job, "ValueError"):
        if given_checkpoint(job, call) is True:
            fault = 'it resumes from the last checkpoint in `output_dir`, and with `save_strategy="no"` there is none'
            yield Finding(checkpoint_key(call), fault, place=checkpoint_place(call))


SCRIPT = """
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", save_strategy="steps")
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
trainer.train(resume_from_checkpoint=True)
"""

RULE = Rule(
    code="RSM103",
    name="resume-without-checkpoints",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "Tried with transformers 5.23 and trl 1.16: ValueError from `train(resume_from_checkpoint=True)` in an "
        "empty `output_dir`."
    ),
    kinds=PROGRAMS,
    bad=(Case(script=SCRIPT.replace('"steps"', '"no"'), at="calls.2.resume_from_checkpoint"),),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace('"steps"', '"no"').replace("=True", "=False")),
        Case(script=SCRIPT.replace('"steps"', '"no"').replace("=True", '="runs/first/checkpoint-500"')),
    ),
)
