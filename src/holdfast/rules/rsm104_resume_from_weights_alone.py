"""Resuming from checkpoints that hold only the weights.

## What it does
Checks for `save_only_model=True` together with `trainer.train(resume_from_checkpoint=True)`, or with a checkpoint in
this run's own `output_dir`.

## Why is this bad
Such a checkpoint has no optimizer, scheduler or random state. Nothing raises: the step number continues, but the
optimizer's moments and the learning rate's warm-up start again. The loss jumps, and the run differs from the one that
was interrupted.

## Fix safety
The fix is unsafe: complete checkpoints take about three times the disk space.
"""

from collections.abc import Iterator

from holdfast.catalog.calls.resuming import given_checkpoint, is_training
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Remove

ONLY = "train.save_only_model"


def check(job: Document) -> Iterator[Finding]:
    """Report a run that resumes from checkpoints which hold only the weights."""
    if job.get(ONLY, None) is not True:
        return
    folder = job.get("train.output_dir", None)
    for call in filter(is_training, job.calls):
        if not call.guard.because and _is_own(given_checkpoint(job, call), folder):
            fix = Fix("save the optimizer too", (Remove(ONLY),), safe=False)
            yield Finding(ONLY, "the run resumes from checkpoints that hold neither optimizer nor scheduler", fix)
            return


def _is_own(checkpoint: object, folder: object) -> bool:
    """True if a run resumes from the folder to which it saves."""
    within = isinstance(checkpoint, str) and isinstance(folder, str) and checkpoint.startswith(f"{folder}/")
    return checkpoint is True or within


SCRIPT = """
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", save_only_model=True)
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
trainer.train(resume_from_checkpoint=True)
"""

RULE = Rule(
    code="RSM104",
    name="resume-from-weights-alone",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "Tried with transformers 5.23 and trl 1.16: such a checkpoint holds no `optimizer.pt`, and resuming from it"
        " ran from step 2 to step 4 without a word. With DeepSpeed it was not tried."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=SCRIPT, at=ONLY, fixed=SCRIPT.replace(", save_only_model=True", "")),
        Case(
            script=SCRIPT.replace("=True)\n", '="out/checkpoint-2")\n').replace(
                'model="out/checkpoint-2"', "model=True"
            ),
            at=ONLY,
            fixed=SCRIPT.replace("=True)\n", '="out/checkpoint-2")\n').replace(
                ', save_only_model="out/checkpoint-2"', ""
            ),
        ),
    ),
    good=(
        Case(script=SCRIPT.replace(", save_only_model=True", "")),
        Case(script=SCRIPT.replace("resume_from_checkpoint=True", "")),
    ),
)
