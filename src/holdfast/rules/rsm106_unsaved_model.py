"""Training whose result is not saved.

## What it does
Checks for `trainer.train()` with `save_strategy="no"` in a script that saves and pushes nothing: no `save_model`,
`save_pretrained`, `push_to_hub` or `torch.save` in any form. A script that trains fewer than 100 steps (`max_steps`)
counts as a test of the script, and is not reported.

## Why is this bad
The weights are lost when the process ends.

## Fix safety
There is no automatic fix: `trainer.save_model()` after the training saves its result. A test, or a study of the
metrics alone, may not need it.
"""

from collections.abc import Iterator

from holdfast.catalog.calls.kept_weights import KEEPS
from holdfast.catalog.calls.resuming import is_training
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

KEY = "train.save_strategy"
ENOUGH_STEPS = 100  # fewer are a test of the script, whose model is not needed


def check(job: Document) -> Iterator[Finding]:
    """Report training whose result is not saved."""
    if (
        job.get(KEY, None) != "no"
        or KEEPS.search(job.text)
        or job.get("trainer.callbacks", None)
        or job.get("train.push_to_hub", None) is True  # HUB104 reports that nothing is pushed
    ):
        return
    if not _is_short(job) and any(not call.guard.because for call in filter(is_training, job.calls)):
        yield Finding(KEY, "nothing saves the trained model: its weights are lost when the script ends")


def _is_short(job: Document) -> bool:
    steps = job.get("train.max_steps", -1)
    return isinstance(steps, int) and 0 < steps < ENOUGH_STEPS


SCRIPT = """
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", save_strategy="no")
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
trainer.train()
"""

RULE = Rule(
    code="RSM106",
    name="unsaved-model",
    explain=__doc__,
    severity=Severity.INFO,
    check=check,
    source=(
        'Tried with transformers 5.23 and trl 1.16: after a run with `save_strategy="no"` there are no weights in '
        '`output_dir`. With "steps" the last step is saved too, however few there were.'
    ),
    kinds=PROGRAMS,
    bad=(Case(script=SCRIPT, at=KEY),),
    good=(
        Case(script=SCRIPT + 'trainer.save_model("out")\n'),
        Case(script=SCRIPT.replace('"no"', '"no", push_to_hub=True')),
        Case(script=SCRIPT.replace('"no"', '"steps"')),
        Case(script=SCRIPT.replace('"no"', '"no", max_steps=5')),
        Case(script=SCRIPT.replace("trainer.train()", "")),
        Case(script=SCRIPT.replace("trainer.train()", "trainer.model.train()")),
    ),
)
