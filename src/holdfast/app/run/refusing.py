"""What `check` and the rehearsal said of a run's job before it was started, from the run's folder."""

import json
from pathlib import Path

from msgspec import DecodeError
from msgspec import json as typed_json

from holdfast.app.run.runs import Run
from holdfast.core.event import RunState
from holdfast.core.results.check import CheckResult
from holdfast.core.results.run import RunRefusal
from holdfast.engine.run.refusals import check_refusals, rehearsal_refusals

CHECK = "check.json"
REHEARSAL = "rehearsal.json"


def read_refusals(run: Run, state: RunState) -> tuple[RunRefusal, ...]:
    """Return what forbade a run before it was started; nothing where nothing did."""
    if state.refused_by == "check" and (checked := read_check(run.folder)):
        return tuple(check_refusals(checked, state.codes))
    path = run.folder / REHEARSAL
    if state.refused_by == "rehearsal" and path.exists():
        return tuple(rehearsal_refusals(json.loads(path.read_bytes())))
    return ()


def read_check(folder: Path) -> CheckResult | None:
    """Return what `check` found before a run, given the run's folder; None where it was not checked, or by another version."""
    try:
        return typed_json.decode((folder / CHECK).read_bytes(), type=CheckResult)
    except (OSError, DecodeError):
        return None
