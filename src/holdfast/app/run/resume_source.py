"""The checkpoint that a run is started from, with `--resume-from`: of another run, of any trainer, or on the Hub."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from holdfast.adapters.hub.checkpoints import download_checkpoint
from holdfast.adapters.storage.checkpoints import require_resumable
from holdfast.app.run.observers import RunObserver
from holdfast.app.run.runs import Run
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.run.backends import capabilities_of
from holdfast.core.run.event import RunStage
from holdfast.core.run.plan import Plan, RunRequest

OPTION: Final = "--resume-from"
HUB: Final = "hf://"
FOLDER: Final = "resumed"
"""In the run's folder: what was downloaded."""


def absolute_source(named: str) -> str:
    """Return what `--resume-from` names, absolute: a folder, or an address on the Hub.

    Raises:
        UsageError: There is no such folder.
    """
    if named.startswith(HUB):
        return named
    path = Path(named).expanduser()
    if not _is_folder(path):
        raise UsageError(f"no such checkpoint: {named}", where=OPTION, fix="name a folder, or `hf://owner/name`")
    return str(path.absolute())


def _is_folder(path: Path) -> bool:
    with suppress(OSError):  # a name that is too long
        return path.is_dir()
    return False


def require_reachable(request: RunRequest, plan: Plan) -> None:
    """Refuse a checkpoint that attempts would not find where they run, or that may not be downloaded.

    Raises:
        UsageError: It is one.
    """
    if not capabilities_of(plan.backend).shares_files:
        fix = "run on a backend that shares files with this machine, such as `local`"
        what = (
            f"attempts on {plan.backend} cannot read files of this machine, where the checkpoint is or is downloaded to"
        )
        raise UsageError(what, where=OPTION, fix=fix)
    if request.offline and request.resume_from.startswith(HUB):
        fix = "leave out --offline, or name a folder"
        raise UsageError("the checkpoint is on the Hub, which --offline leaves alone", where=OPTION, fix=fix)


def fetch_resume_source(run: Run, source: str, observer: RunObserver) -> str:
    """Return the folder of a checkpoint that training can resume from; one on the Hub is downloaded into the run's folder.

    Raises:
        UsageError: There is no such checkpoint, or training cannot resume from it. The run is closed.
        SourceError: It could not be downloaded. The run is closed.
    """
    try:
        folder = _download(run, source, observer) if source.startswith(HUB) else Path(source)
        integrity = require_resumable(folder, source)
    except (UsageError, SourceError) as error:
        run.close(RunStage.FAILED, f"not started: {error.what}")
        raise
    if integrity.verdict == "unverifiable":
        observer.on_note(f"{source}: not verified, because it has no manifest of holdfast; no damage is apparent")
    return str(folder)


def _download(run: Run, source: str, observer: RunObserver) -> Path:
    observer.on_note(f"downloading the checkpoint {source}")
    return download_checkpoint(source, run.folder / FOLDER, os.environ)
