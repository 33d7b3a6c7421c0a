"""The results of other verbs that belong to a run: of `check` and the rehearsal before it, and of the evaluations after it."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from msgspec import DecodeError
from msgspec import json as typed_json

from holdfast.adapters.foreign_files import read_foreign
from holdfast.adapters.secrets import redacted_parts
from holdfast.adapters.storage.run_folder import write_whole
from holdfast.app.run.runs import Run
from holdfast.core.run.event import ModelEvaluated
from holdfast.core.run.run_state import RunState
from holdfast.engine.run.refusals import check_refusals, rehearsal_refusals
from holdfast.results import Result, to_json
from holdfast.results.check import CheckResult
from holdfast.results.evaluate import EvaluateResult
from holdfast.results.refusal import RunRefusal
from holdfast.results.rehearse import RehearseResult

Loaded = TypeVar("Loaded", CheckResult, RehearseResult)
FILES: Final[dict[type[Result], str]] = {CheckResult: "check.json", RehearseResult: "rehearsal.json"}


def save_result(run: Run, result: CheckResult | RehearseResult) -> None:
    """Write a result into the run's folder."""
    write_whole(run.folder / FILES[type(result)], json.dumps(redacted_parts(to_json(result))))


def load_result(folder: Path, kind: type[Loaded]) -> Loaded | None:
    """Return a result from a run's folder; None if it is not there, or if another version wrote it."""
    try:
        return typed_json.decode(read_foreign(folder / FILES[kind]), type=kind)
    except (OSError, DecodeError):
        return None


def read_refusals(run: Run, state: RunState) -> tuple[RunRefusal, ...]:
    """Return the reasons why a run was refused before its start; empty if it was not refused."""
    if state.refused_by == "check" and (checked := load_result(run.folder, CheckResult)):
        return tuple(check_refusals(checked, state.codes))
    if state.refused_by == "rehearsal" and (rehearsed := load_result(run.folder, RehearseResult)):
        return tuple(rehearsal_refusals(rehearsed))
    return ()


def load_evaluations(evaluated: ModelEvaluated | None) -> tuple[EvaluateResult, ...]:
    """Return the results of the evaluation of a final model; those whose files are gone are left out."""
    found: list[EvaluateResult] = []
    for path in evaluated.files if evaluated else ():
        with suppress(OSError, DecodeError):
            found.append(typed_json.decode(read_foreign(Path(path)), type=EvaluateResult))
    return tuple(found)
