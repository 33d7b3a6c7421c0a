"""Why a run was refused, from what lies in its folder."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.app.run.runs import Run
from holdfast.core.event import RunState
from holdfast.engine.run.refusals import Reason, reasons_of_check, reasons_of_rehearsal


def read_refusal(run: Run, state: RunState) -> tuple[Reason, ...]:
    """Return what forbade a run before it was started; nothing of one that was."""
    if state.refused_by == "check" and (told := _read(run.folder / "check.json")):
        return tuple(reasons_of_check(told, state.codes))
    if state.refused_by == "rehearsal" and (told := _read(run.folder / "rehearsal.json")):
        return tuple(reasons_of_rehearsal(told))
    return ()


def _read(path: Path) -> Mapping[str, Any] | None:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
