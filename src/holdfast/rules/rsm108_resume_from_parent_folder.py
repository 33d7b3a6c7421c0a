"""Parent folder of checkpoints used as the checkpoint to resume from.

## What it does
Checks `resume_from_checkpoint` of `trainer.train(…)` for a folder on this machine that contains `checkpoint-…`
folders and has no files of a checkpoint itself.

## Why is this bad
The trainer does not search a named folder for its newest checkpoint. It raises ValueError,
`Can't find a valid checkpoint at …`; for checkpoints of an adapter, FileNotFoundError for `trainer_state.json`. This
is a warning, because the script may run elsewhere.

## Fix safety
The fix is unsafe: it writes the newest checkpoint, and you may mean another one. `True` stands for the newest one in
`output_dir`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.catalog.calls.resuming import NAME, checkpoint_key
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Set


def check(job: Document, checkpoints_within: Mapping[str, str]) -> Iterator[Finding]:
    """Report each parent folder that is used as a checkpoint."""
    for call in job.calls if checkpoints_within else ():
        key, given = checkpoint_key(call), _named_checkpoint(job, call)
        newest = checkpoints_within.get(given) if isinstance(given, str) else None
        if newest and not call.guard.because and not call.guard.tolerates("ValueError"):
            fault = f"`{given}` is not a checkpoint, but the folder that holds checkpoints: write `{newest}`"
            yield Finding(key, fault, Fix(f"write `{newest}`", (Set(key, newest),), safe=False))


def _named_checkpoint(job: Document, call: Call) -> Any:
    return job.get(checkpoint_key(call), None) if call.name == "train" and NAME in call.arguments else None


SCRIPT = """from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=SFTConfig(output_dir="out"), train_dataset=rows)
trainer.train(resume_from_checkpoint="runs/first")
"""
FIXED = SCRIPT.replace("runs/first", "runs/first/checkpoint-500")

RULE = Rule(
    code="RSM108",
    name="resume-from-parent-folder",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source="Tried with transformers 5.23 and trl 1.16: ValueError with the folder around checkpoints of a model, FileNotFoundError with that around those of an adapter.",
    kinds=PROGRAMS,
    bad=(
        Case(
            script=SCRIPT,
            facts={"checkpoints_within": {"runs/first": "runs/first/checkpoint-500"}},
            at="calls.2.resume_from_checkpoint",
            fixed=FIXED,
        ),
    ),
    good=(
        Case(script=SCRIPT, facts={"checkpoints_within": {}}),
        Case(script=FIXED, facts={"checkpoints_within": {"runs/first": "runs/first/checkpoint-500"}}),
    ),
)
