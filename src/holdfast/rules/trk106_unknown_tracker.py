"""Tracker that transformers does not know.

## What it does
Checks `report_to` against the trackers that the transformers version knows. `None`, `True`, `False` and an empty text
are not among them; before 5.0, `None` meant every installed tracker.

## Why is this bad
The config accepts any value. The trainer raises `ValueError: … is not supported`, after the model is loaded.

## Fix safety
The fix is safe where it corrects a misspelt name that is close to a known one. It is unsafe where it replaces `None`,
`False` and the like by `none`, which is what most users mean.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set
from holdfast.core.text.nearest import nearest

# The transformers release from which each tracker is known; "0" is older than 4.36.
NEAR = 0.8
KNOWN: Mapping[str, str] = dict.fromkeys(
    ("azure_ml", "comet_ml", "mlflow", "neptune", "tensorboard", "wandb", "codecarbon", "clearml", "dagshub", "flyte"),
    "0",
) | {"dvclive": "0", "swanlab": "4.50.0", "trackio": "4.54.0", "kubeflow": "5.4.0"}
STRICT = "5.0.0"
KEY = "train.report_to"


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report the first tracker that the trainer refuses."""
    trackers = job.get(KEY, [])
    if "transformers" not in api.versions or _names_none(trackers, api):
        return
    for name in trackers if isinstance(trackers, list | tuple) else [trackers]:
        if fault := _fault(name, api):
            yield Finding(KEY, fault, _mend(trackers, name))
            return


def _names_none(trackers: Any, api: Api) -> bool:
    """True if the trainer takes a value that names no tracker by itself."""
    if trackers is None:
        return not since(api, "transformers", STRICT)
    return trackers in ("all", "none", ["all"], ["none"])


def _fault(name: Any, api: Api) -> str | None:
    if not isinstance(name, str | bool | None):
        return None
    first = KNOWN.get(name) if isinstance(name, str) else None
    if first is None:
        return f"{name!r} is not a tracker, and the trainer refuses it: `none` or one of {', '.join(sorted(KNOWN))}"
    if not since(api, "transformers", first):
        return f"transformers {api.versions['transformers']} does not know {name!r} yet; {first} does"
    return None


def _mend(trackers: Any, name: Any) -> Fix | None:
    if not isinstance(name, str) or name in ("", "None", "no", "off", "false"):
        return Fix("report to none", (Set(KEY, "none"),), safe=False) if trackers is name else None
    close = nearest(name.lower(), tuple(KNOWN), cutoff=NEAR) if name not in KNOWN else None
    return _renaming(trackers, name, close) if close else None


def _renaming(trackers: Any, name: str, new: str) -> Fix:
    meant = new if isinstance(trackers, str) else [new if each == name else each for each in trackers]
    return Fix(f"report to {new}", (Set(KEY, meant),))


SCRIPT = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", report_to="wandb")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""

RULE = Rule(
    code="TRK106",
    name="unknown-tracker",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers from 4.36 to 5.23, `INTEGRATION_TO_CALLBACK`. Tried with 5.23: the config takes each of these, and the "
        "trainer raises ValueError; so it does for None, True, False, an empty text, `None`, `off` and `wandb,trackio`."
    ),
    bad=(
        Case(script=SCRIPT.replace('"wandb"', '"wand"'), at=KEY, fixed=SCRIPT),
        Case(script=SCRIPT.replace('"wandb"', "False"), at=KEY, fixed=SCRIPT.replace('"wandb"', '"none"')),
        Case(script=SCRIPT.replace('"wandb"', "None"), at=KEY, fixed=SCRIPT.replace('"wandb"', '"none"')),
        Case(script=SCRIPT.replace('"wandb"', '"trackio"'), versions={"transformers": "4.53.3"}, at=KEY),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace('"wandb"', '"all"')),
        Case(script=SCRIPT.replace('"wandb"', "[]")),
        Case(script=SCRIPT.replace('"wandb"', '["trackio", "tensorboard"]')),
        Case(script=SCRIPT.replace('"wandb"', "None"), versions={"transformers": "4.57.6"}),
    ),
    kinds=PROGRAMS,
)
