"""Tracker initialized, but not passed to `report_to`.

## What it does
With transformers 5.0 or newer, checks for `wandb.init()`, `trackio.init()` or `swanlab.init()` before `train()`, in a
script whose config sets no `report_to` and that logs nothing itself.

## Why is this bad
Up to transformers 4.57 a trainer reported to every installed tracker. Since 5.0 it reports only to the trackers in
`report_to`: the run is opened, and stays empty.

## Fix safety
The fix is unsafe: it sets `report_to` to the initialized tracker, which the script implies. With trackio, the trainer
opens a run of its own, so you must also remove `trackio.init()`.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import ABSENT, Document, Set

SILENT = "5.0.0"
TRACKERS = ("wandb", "trackio", "swanlab")
OPENING = tuple(f"{tracker}.init" for tracker in TRACKERS)


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report the first initialized tracker that is missing from `report_to`."""
    opened = [call for call in job.calls if _opens_tracker(job, call)]
    if not since(api, "transformers", SILENT) or not opened or _logs(job) or job.call("train") is None:
        return
    if job.get("train.report_to") is ABSENT and not job.get("trainer.callbacks", None):
        first = opened[0]
        fix = Fix(f"report to {first.package}", (Set("train.report_to", first.package),), safe=False)
        fault = f"transformers {api.versions['transformers']} reports to no tracker unless `report_to` names it: this run stays empty"
        yield Finding(first.key, fault, fix, place=first.name_place)


def _opens_tracker(job: Document, call: Call) -> bool:
    return call.path in OPENING and not call.guard.because and not _reports_to_tracker(job, call)


def _reports_to_tracker(job: Document, call: Call) -> bool:
    """True if a tracker is opened under an `if` on `report_to`: then it is only where the trainer reports to it."""
    lines = job.text.splitlines()[: call.place.line] if call.place.line and not call.place.cell else []
    return any(line.lstrip().startswith(("if ", "elif ")) and "report_to" in line for line in _enclosing(lines))


def _enclosing(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the blocks around the last one, from the inside to the outside."""
    inside = _indent(lines[-1]) if lines else 0
    for line in reversed(lines[:-1]):
        if line.strip() and _indent(line) < inside:
            inside = _indent(line)
            yield line


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _logs(job: Document) -> bool:
    """True if the script reports by itself, or by what TRL had before 0.12 (`log_with`)."""
    logging = (call.name == "add_callback" or (call.name == "log" and call.package in TRACKERS) for call in job.calls)
    own = any(each.name and each.name.endswith("Callback") for each in job.imports)
    return own or "log_with" in job.text or any(logging)


SCRIPT = """import wandb
from trl import SFTConfig, SFTTrainer

wandb.init(project="capybara")
args = SFTConfig(output_dir="out", report_to="wandb")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
trainer.train()
"""
UNREPORTED = SCRIPT.replace(', report_to="wandb"', "")

RULE = Rule(
    code="TRK105",
    name="untracked-run",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "transformers 4.57 and 5.0, the default of `report_to`. Tried with 5.23 and trackio 0.43: a run that the script opens "
        "holds no metric of the trainer's."
    ),
    bad=(Case(script=UNREPORTED, at="calls.0", fixed=SCRIPT),),
    good=(
        Case(script=SCRIPT),
        Case(script=UNREPORTED, versions={"transformers": "4.57.6"}),
        Case(script=UNREPORTED + 'wandb.log({"score": 1.0})\n'),
        Case(script=UNREPORTED.replace('"out"', '"out", report_to="none"')),
        Case(script=UNREPORTED.replace("wandb.init", 'if options.report_to == "wandb":\n    wandb.init')),
    ),
    kinds=PROGRAMS,
)
