"""Tracker settings without a tracker in `report_to`.

## What it does
With transformers 5.0 or newer and a config without `report_to`, or with `report_to="none"`, checks for settings that
only a tracker reads: `run_name`, `project`, `trackio_space_id`.

## Why is this bad
Up to transformers 4.57 a config without `report_to` reported to every installed tracker. Since 5.0 it reports to
none, and these settings have no effect: no tracker shows the run.

## Fix safety
There is no automatic fix: only you know which tracker you meant. Set `report_to`, or remove the other settings.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

SILENT = "5.0.0"
SETTINGS = ("train.run_name", "train.project", "train.trackio_space_id")


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report the first setting of a tracker that is not in `report_to`."""
    if not since(api, "transformers", SILENT) or _reports(job):
        return
    if key := next((key for key in SETTINGS if job.get(key, None) is not None), None):
        fault = f"this has no effect: transformers {api.versions['transformers']} reports only to the trackers that `report_to` names"
        yield Finding(key, fault)


def _reports(job: Document) -> bool:
    """True if a config names a tracker, or a callback may report to one."""
    if job.get("train.report_to", "none") not in ("none", [], ["none"]) or job.get("trainer.callbacks", None):
        return True
    return any(call.name == "add_callback" for call in job.calls)


SCRIPT = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", report_to="trackio", run_name="first")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""

RULE = Rule(
    code="TRK104",
    name="unreported-name",
    explain=__doc__,
    severity=Severity.INFO,
    check=check,
    source="transformers 4.57 and 5.0, the default of `report_to`. Tried with 5.23: no callback is added without `report_to`.",
    bad=(
        Case(script=SCRIPT.replace('report_to="trackio", ', ""), at="train.run_name"),
        Case(script=SCRIPT.replace('"trackio"', '"none"').replace("run_name", "project"), at="train.project"),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace('report_to="trackio", ', ""), versions={"transformers": "4.57.6"}),
        Case(script=SCRIPT.replace(', run_name="first"', "")),
        Case(
            script=SCRIPT.replace('report_to="trackio", ', "")
            .replace("rows", "rows, callbacks=[mine]")
            .replace("from", "def mine(): ...\n\nfrom", 1)
        ),
    ),
    kinds=PROGRAMS,
)
