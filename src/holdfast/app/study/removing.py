"""Removing the checkpoints and models of trials that are not among the best of their study."""

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from holdfast.adapters.storage.run_folder import supervising
from holdfast.app.study.outcomes import TrialRun
from holdfast.core.trial import TrialOutcome

REMOVED: Final = "removed.json"
"""The file of a run that says what was removed, and why."""
CHECKPOINTS: Final = "checkpoints"
MODEL: Final = "model"


def empty_trials(study: str, outcomes: Sequence[TrialOutcome], found: Mapping[str, TrialRun], keep: int) -> None:
    """Remove the checkpoints and models of trials. A run that another study has started, or that is under way, keeps them.

    Args:
        study: The name of the study.
        outcomes: The trials.
        found: Their runs, by the hash of their content.
        keep: How many settings keep theirs.
    """
    for outcome in outcomes:
        trial = found[outcome.content]
        if trial.state.about.study == study:
            with supervising(trial.run.folder) as mine:
                if mine:
                    _empty(trial.run.folder, f"it is not among the best {keep} settings of the study {study}")


def _empty(folder: Path, because: str) -> None:
    """Remove the checkpoints and the model of a run; what cannot be removed now is left for the next time."""
    present = [name for name in (CHECKPOINTS, MODEL) if (folder / name).is_dir()]
    if not present:
        return
    with suppress(OSError):
        (folder / REMOVED).write_text(json.dumps({"removed": present, "because": because}, indent=1) + "\n")
        for name in present:
            draft = folder / f"{name}.removed"
            (folder / name).rename(draft)  # a kill amid the removal leaves no half of a model
            shutil.rmtree(draft)
