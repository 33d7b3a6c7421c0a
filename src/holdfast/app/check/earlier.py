"""What earlier commands have shown of a target that is checked."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.run_folder import load_plan
from holdfast.adapters.targets import Target
from holdfast.app.arguments import runs_folder
from holdfast.app.check.target_request import TargetRequest
from holdfast.app.rehearsed import passed_rehearsals
from holdfast.app.targets.programs import program_of
from holdfast.app.targets.rendering import script_of
from holdfast.core.errors import HoldfastError
from holdfast.core.job.target_kind import TargetKind, target_kind
from holdfast.core.run.run_state import RunState, fold, trained_s
from holdfast.engine.checklist.earlier import Earlier

RUNNABLE: Final = (TargetKind.JOB, TargetKind.SCRIPT, TargetKind.NOTEBOOK)
LOOKED_AT: Final = 50  # newest runs of the folder


def find_earlier(request: TargetRequest, target: Target) -> Earlier:
    """Return the results of an earlier rehearsal and run of the same job: the same script with the same settings."""
    if target_kind(request.path) not in RUNNABLE:
        return Earlier()
    earlier = Earlier(rehearsed=_rehearsed(request))
    name, state = next(_runs_of(target), ("", RunState()))
    if not name:
        return earlier
    return replace(earlier, run=name, stage=state.stage.value, took_s=trained_s(state))


def _rehearsed(request: TargetRequest) -> str:
    """Return when a rehearsal passed, by itself or before a run; an empty text if none did, or none is known here."""
    with suppress(HoldfastError):
        program = program_of(request.path, request.sets, request.arguments)
        newest_s = max(filter(None, (each.made_s for each in passed_rehearsals(program))), default=None)
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(newest_s)) if newest_s is not None else ""
    return ""


def _runs_of(target: Target) -> Iterator[tuple[str, RunState]]:
    """Yield name and state of each run that was started from the same script, newest first."""
    folder = runs_folder(None, target.job.output.folder if target.job else None)
    if not folder.is_dir():
        return
    script, ledger = script_of(target), Ledger(folder)
    for name in reversed(ledger.runs()[-LOOKED_AT:]):
        if _script(folder / name) == script:
            yield name, fold(ledger.outline(name))


def _script(folder: Path) -> str | None:
    """Return the script that a run was started with; None for one that never was."""
    with suppress(HoldfastError, OSError):
        return load_plan(folder).script
    return None
