"""Project name in a place that its tracker does not read.

## What it does
Checks where the project is named against the trackers in `report_to`: only trackio reads `project=` in the config,
only Weights & Biases reads the variable `WANDB_PROJECT`, and since transformers 5.2, nothing reads `TRACKIO_PROJECT`.

## Why is this bad
The name is silently ignored, and the run goes to the project `huggingface`, together with those of every other
script.

## Fix safety
There is no automatic fix: for wandb, set `WANDB_PROJECT` before the trainer is built; for trackio, set `project=` in
the config.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.calls.tracking import reported_trackers
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

PROJECT = "train.project"
WANDB, TRACKIO = "environment.variables.WANDB_PROJECT", "environment.variables.TRACKIO_PROJECT"
ARGUMENT, UNREAD = "4.57.1", "5.2.0"


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each project name that the tracker in use does not read."""
    trackers = reported_trackers(job)
    if not since(api, "transformers", ARGUMENT):
        return
    if trackers == ["wandb"]:
        yield from _unread_by_wandb(job)
    elif trackers == ["trackio"]:
        yield from _unread_by_trackio(job, api)


def _unread_by_wandb(job: Document) -> Iterator[Finding]:
    named = _is_set(job, PROJECT) and not _is_set(job, WANDB)
    if named and not any(call.path == "wandb.init" for call in job.calls):
        yield Finding(PROJECT, "wandb ignores `project`, and reads only the variable WANDB_PROJECT")


def _unread_by_trackio(job: Document, api: Api) -> Iterator[Finding]:
    if _is_set(job, PROJECT):
        return
    if _is_set(job, WANDB):
        yield Finding(WANDB, "trackio ignores WANDB_PROJECT: set `project` in the config")
    if _is_set(job, TRACKIO) and since(api, "transformers", UNREAD):
        fault = (
            f"transformers {api.versions['transformers']} no longer reads TRACKIO_PROJECT: set `project` in the config"
        )
        yield Finding(TRACKIO, fault)


def _is_set(job: Document, key: str) -> bool:
    return job.get(key, None) is not None


SCRIPT = """import os
from trl import SFTConfig, SFTTrainer

os.environ["WANDB_PROJECT"] = "capybara"
args = SFTConfig(output_dir="out", report_to="wandb")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""
NAMED = SCRIPT.replace('os.environ["WANDB_PROJECT"] = "capybara"\n', "").replace(
    '"wandb"', '"wandb", project="capybara"'
)

RULE = Rule(
    code="TRK103",
    name="ignored-project",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "transformers from 4.57.1 to 5.23, `WandbCallback.setup` and `TrackioCallback.setup`. Tried with 5.23: with "
        "`project=` alone, the run of wandb 0.31 is in the project `huggingface`."
    ),
    bad=(
        Case(script=NAMED, at="train.project"),
        Case(script=SCRIPT.replace('"wandb"', '"trackio"'), at=WANDB),
        Case(script=SCRIPT.replace('"wandb"', '"trackio"').replace("WANDB", "TRACKIO"), at=TRACKIO),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=NAMED.replace('"wandb"', '"trackio"')),
        Case(script=NAMED.replace('"wandb"', '["wandb", "trackio"]')),
        Case(
            script=SCRIPT.replace('"wandb"', '"trackio"').replace("WANDB", "TRACKIO"),
            versions={"transformers": "5.1.0"},
        ),
    ),
    kinds=PROGRAMS,
)
