"""`trackio.init()` before a trainer that opens a run of its own.

## What it does
With `report_to="trackio"` and transformers 4.54 or newer, checks for a `trackio.init(project=…)` before `train()`,
whose project is not the one that the trainer will report to.

## Why is this bad
The trainer does not continue the run that the script has opened: it finishes that run, and opens its own in the
project that its config names, `huggingface` by default. The intended project stays empty.

## Fix safety
There is no automatic fix: set `project=` (from transformers 4.57.1 on), `run_name=` and `trackio_space_id=` in the
config, and remove both `trackio.init()` and `trackio.finish()`.
"""

from collections.abc import Iterator
from itertools import takewhile

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.calls.resuming import is_training
from holdfast.catalog.calls.tracking import reported_trackers
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document

INIT, CALLBACK = "trackio.init", "4.54.0"


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report a `trackio.init()` to whose run nothing is reported."""
    if (
        not since(api, "transformers", CALLBACK)
        or not any(call.path == INIT for call in job.calls)
        or "trackio" not in reported_trackers(job)
        or "TRACKIO_PROJECT" in job.text
    ):
        return
    reported = job.get("train.project", "huggingface")
    for call in takewhile(lambda call: not is_training(call), job.calls):
        yield from _empty_project(call, reported)


def _empty_project(call: Call, reported: str) -> Iterator[Finding]:
    given = call.arguments.get("project", next(iter(call.positional), None))
    if call.path == INIT and not call.guard.because and isinstance(given, str) and given != reported:
        fault = (
            f"the trainer reports to the project {reported!r}, so {given!r} gets no metrics: use the config's `project`"
        )
        yield Finding(call.key, fault, place=call.name_place)


SCRIPT = """import trackio
from trl import SFTConfig, SFTTrainer

trackio.init(project="capybara", name="first")
args = SFTConfig(output_dir="out", report_to="trackio")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
trainer.train()
"""

RULE = Rule(
    code="TRK102",
    name="empty-project",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "transformers from 4.54 to 5.23, `TrackioCallback.setup`. Tried with 5.23 and trackio 0.43: of the two projects, only "
        "`huggingface` has a database after training."
    ),
    bad=(
        Case(script=SCRIPT, at="calls.0"),
        Case(script=SCRIPT.replace('report_to="trackio"', 'report_to=["trackio"], project="other"'), at="calls.0"),
    ),
    good=(
        Case(script=SCRIPT.replace('report_to="trackio"', 'report_to="trackio", project="capybara"')),
        Case(script=SCRIPT.replace('report_to="trackio"', 'report_to="none"')),
        Case(script=SCRIPT.replace('trackio.init(project="capybara", name="first")\n', "")),
        Case(script=SCRIPT.replace("trackio.init", "if False:\n    trackio.init")),
    ),
    kinds=PROGRAMS,
)
