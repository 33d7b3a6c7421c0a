"""`WANDB_DISABLED`, which no longer has an effect.

## What it does
With transformers 5.0 or newer, checks for the variable `WANDB_DISABLED` in a script that reports to wandb, or to all
trackers.

## Why is this bad
Transformers 4 read it; 5.0 and later do not, nor does wandb itself. The run goes to Weights & Biases all the same, or
ends because it has no API key.

## Fix safety
There is no automatic fix: use `report_to="none"`, or `WANDB_MODE=disabled`.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.calls.tracking import reported_trackers
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

KEY = "environment.variables.WANDB_DISABLED"
IGNORED = "5.0.0"
ON = ("true", "True", "TRUE", "1", "yes", "on")


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report `WANDB_DISABLED`, which has no effect."""
    if not since(api, "transformers", IGNORED) or job.get(KEY, None) not in ON:
        return
    trackers = reported_trackers(job)
    if ("wandb" in trackers or "all" in trackers) and job.get("environment.variables.WANDB_MODE", None) is None:
        fault = f"transformers {api.versions['transformers']} ignores WANDB_DISABLED, and `report_to` names wandb"
        yield Finding(KEY, fault)


SCRIPT = """import os
from trl import SFTConfig, SFTTrainer

os.environ["WANDB_DISABLED"] = "true"
args = SFTConfig(output_dir="out", report_to="wandb")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""

RULE = Rule(
    code="TRK109",
    name="idle-switch",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source="transformers 4.57 and 5.0; wandb 0.31. Tried with 5.23: with the variable set, a run is opened and filled.",
    bad=(Case(script=SCRIPT, at=KEY),),
    good=(
        Case(script=SCRIPT.replace('"wandb"', '"none"')),
        Case(script=SCRIPT, versions={"transformers": "4.57.6"}),
        Case(script=SCRIPT.replace("_DISABLED", "_MODE").replace('"true"', '"disabled"')),
    ),
    kinds=PROGRAMS,
)
