"""Removing the checkpoints, models and exports of trials that are not among the best of their study."""

import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from holdfast.adapters.storage.removal import Removal, read_removal, write_removal
from holdfast.adapters.storage.run_folder import supervising
from holdfast.app.study.outcomes import TrialRun
from holdfast.core.study.trial import TrialOutcome

LARGE: Final = re.compile(r"checkpoints|model|export(-[0-9]+)?")
"""The folders of a run that are removed."""
DRAFT: Final = ".removed"
"""Ends the name of a folder while it is removed."""


def empty_trials(study: str, outcomes: Sequence[TrialOutcome], found: Mapping[str, TrialRun], keep: int) -> None:
    """Remove the checkpoints, models and exports of trials. A run that another study has started, or that is under way, keeps them.

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
                    _remove_leftovers(trial.run.folder)
                    _empty(trial.run.folder, f"it is not among the best {keep} settings of the study {study}")


def _empty(folder: Path, because: str) -> None:
    """Remove the checkpoints, the model and the exports of a run; what cannot be removed now is left for the next time."""
    with suppress(OSError):
        present = sorted(each.name for each in folder.iterdir() if LARGE.fullmatch(each.name) and _is_own_folder(each))
        if not present:
            return
        removed = sorted({*read_removal(folder).removed, *present})
        write_removal(folder, Removal(removed, because))
        for name in present:
            draft = folder / f"{name}{DRAFT}"
            (folder / name).rename(draft)  # a kill amid the removal leaves no half of a model
            shutil.rmtree(draft)


def _remove_leftovers(folder: Path) -> None:
    """Remove what an earlier removal left when it was killed: as long as it is there, nothing can take its name."""
    for draft in folder.glob(f"*{DRAFT}"):
        if LARGE.fullmatch(draft.name.removesuffix(DRAFT)):
            shutil.rmtree(draft, ignore_errors=True)


def _is_own_folder(path: Path) -> bool:
    """Whether a path is a folder of the run itself, and not a link to one elsewhere."""
    return path.is_dir() and not path.is_symlink()
