"""`trackio.finish()` after a trainer that has already finished the run.

## What it does
With `report_to="trackio"` and transformers 4.54 or newer, checks for a call of `trackio.finish()` after `train()`,
without a `trackio.init()` between the two.

## Why is this bad
The trainer opens a run when it begins and finishes it when it ends. Then no run is open, and trackio raises
`RuntimeError: Call trackio.init() before trackio.finish()`: the model is trained and saved, but the rest of the
script does not run. A job ends as failed.

## Fix safety
There is no automatic fix, because a statement must be removed: delete `trackio.finish()`.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.calls.resuming import is_training
from holdfast.catalog.calls.tracking import reported_trackers
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

INIT, FINISH = "trackio.init", "trackio.finish"
CALLBACK, RAISING = "4.54.0", "0.2.3"


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report a `trackio.finish()` after the trainer has finished the run."""
    if not since(api, "transformers", CALLBACK) or not since(api, "trackio", RAISING):
        return
    if any(call.path == FINISH for call in job.calls) and "trackio" in reported_trackers(job):
        yield from _second_finishes(job)


def _second_finishes(job: Document) -> Iterator[Finding]:
    trained = False
    for call in job.calls:
        if is_training(call):
            trained = not call.guard.because
        elif call.path == INIT:
            trained = False
        elif call.path == FINISH and trained and not call.guard.tolerates("RuntimeError"):
            fault = "the trainer has already finished its run, so this raises RuntimeError: remove it"
            yield Finding(call.key, fault, place=call.name_place)


SCRIPT = """import trackio
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", report_to="trackio", project="capybara")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
trainer.train()
"""

RULE = Rule(
    code="TRK101",
    name="second-finish",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers from 4.54 to 5.23, `TrackioCallback.on_train_end`; trackio from 0.2.3 to 0.43, `finish`. Tried with "
        "5.23 and 0.43, with and without a `trackio.init` of its own before: both raise."
    ),
    bad=(
        Case(script=SCRIPT + "trackio.finish()\n", at="calls.3"),
        Case(
            script=SCRIPT.replace("args =", 'trackio.init(project="mine")\nargs =') + "trackio.finish()\n", at="calls.4"
        ),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace('report_to="trackio"', 'report_to="none"') + "trackio.finish()\n"),
        Case(script=SCRIPT + 'trackio.init(project="after")\ntrackio.finish()\n'),
        Case(script=SCRIPT + "try:\n    trackio.finish()\nexcept RuntimeError:\n    pass\n"),
    ),
    kinds=PROGRAMS,
)
