"""Resuming from the last checkpoint of a folder without checkpoints.

## What it does
Checks for an unconditional `trainer.train(resume_from_checkpoint=True)`, if `output_dir` has no checkpoint on this
machine.

## Why is this bad
`True` stands for the last checkpoint in `output_dir`. The trainer raises ValueError if there is none:
`No valid checkpoint found in output directory`. The usual case is the first start of a run. This is a warning,
because the script may run where a checkpoint exists.

## Fix safety
There is no automatic fix. To resume only if there is a checkpoint, pass `get_last_checkpoint(args.output_dir)` of
`transformers.trainer_utils`, which returns None for a folder without checkpoints; the folder must exist.
"""

from collections.abc import Iterator
from typing import Final

from holdfast.catalog.calls.nesting import equally_deep
from holdfast.catalog.calls.resuming import checkpoint_key, checkpoint_place, given_checkpoint, is_training
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document

STRATEGY, OUTPUT = "train.save_strategy", "train.output_dir"
PACKAGES: Final = ("trl", "transformers")


def check(job: Document, checkpoint: Lookup[bool]) -> Iterator[Finding]:
    """Report a run that resumes from the last checkpoint of a folder without checkpoints."""
    start = _start(job)
    if start is None:
        return
    if given_checkpoint(job, start) is True and not checkpoint.fact:
        fault = f"`{job.get(OUTPUT, None)}` has no checkpoint here: the trainer raises ValueError where there is none to resume from"
        yield Finding(checkpoint_key(start), fault, place=checkpoint_place(start))


def _start(job: Document) -> Call | None:
    """Return the only call that trains, if a library's trainer saves checkpoints and is sure to run it."""
    trainer = job.call("trainer")
    starts = list(filter(is_training, job.calls))
    if trainer is None or trainer.package not in PACKAGES or trainer.own or len(starts) != 1:
        return None
    start = starts[0]
    if job.get(STRATEGY, None) == "no" or start.guard.tolerates("ValueError"):
        return None
    return start if equally_deep(job.text, trainer, start) else None


SCRIPT = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", save_steps=100)
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
trainer.train(resume_from_checkpoint=True)
"""
FOLDER = Reference(role="file", name="out/checkpoint-*/*", key=OUTPUT, local=True)
NONE, SOME = {"checkpoint": Lookup(FOLDER, found=False)}, {"checkpoint": Lookup(FOLDER, found=True)}
FIRST = """if resuming:
    trainer.train(resume_from_checkpoint=True)
"""

RULE = Rule(
    code="RSM107",
    name="nothing-to-resume",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "Tried with transformers 5.23 and trl 1.16: ValueError where `output_dir` is not there, and where it is empty; `resume_from_checkpoint=True` of "
        "the config alone is ignored."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=SCRIPT, facts=NONE, at="calls.2.resume_from_checkpoint"),
        Case(script=SCRIPT.replace("output_dir=", ""), facts=NONE, at="calls.2.resume_from_checkpoint"),
        Case(
            script=SCRIPT.replace("resume_from_checkpoint=True", "True"),
            facts=NONE,
            at="calls.2.resume_from_checkpoint",
        ),
        Case(
            script=SCRIPT.replace("trainer.train(", "trainer.model.train()\ntrainer.train("),
            facts=NONE,
            at="calls.3.resume_from_checkpoint",
        ),
    ),
    good=(
        Case(script=SCRIPT, facts=SOME),
        Case(script=SCRIPT.replace("=True", "=last"), facts=NONE),
        Case(script=SCRIPT.replace("trainer.train(resume_from_checkpoint=True)\n", FIRST), facts=NONE),
        Case(script=SCRIPT.replace("trainer.train(", "trainer.train()\ntrainer.train("), facts=NONE),
        Case(script=SCRIPT.replace("save_steps=100", 'save_strategy="no"'), facts=NONE),
    ),
)
