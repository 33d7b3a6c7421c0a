"""Making a run ready for its next attempt, or for its first one if it was stopped or killed before that."""

from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import hash_content
from holdfast.adapters.storage.run_folder import has_plan, is_supervised, load_request, supervising
from holdfast.app.run.observers import RunObserver
from holdfast.app.run.preparing import check_job, prepare_run
from holdfast.app.run.runs import Run
from holdfast.app.run.secrets import resolve_request, with_secrets
from holdfast.core.errors import UsageError
from holdfast.results.run import RunResult

START_ANEW: Final = "`holdfast run` starts the job again"


def continue_run(run: Run, observer: RunObserver) -> Run | RunResult:
    """Return a run that has a plan, to be continued; or its result if it is closed: refused, or stopped meanwhile.

    Raises:
        UsageError: Another process is preparing it, or its request is lost.
    """
    if not has_plan(run.folder):
        return _prepare_again(run, observer)
    if is_supervised(run.folder):
        observer.on_note(f"{run.name} is running already: its supervisor goes on, and this only follows it")
        return run
    if edited := _edited_target(run):
        what = f"{edited} has changed since the run started, and the run keeps to its own copy"
        observer.on_note(f"{what}; {START_ANEW} with the changes")
    return with_secrets(run)


def _edited_target(run: Run) -> str:
    """Return the job file or script of a run if it is no longer what it was at its start; empty if it is, or if that is not known."""
    request = load_request(run.folder)
    if request is None or not request.sha256 or request.address:
        return ""
    now = hash_content(Path(request.target))
    return request.target if now not in ("", request.sha256) else ""


def _prepare_again(run: Run, observer: RunObserver) -> Run | RunResult:
    """Check and rehearse again a run that was stopped or killed before it had a plan; return it with its secrets, or its result.

    Raises:
        UsageError: Another process is preparing it, or its request is lost.
    """
    request = load_request(run.folder)
    gone = [path for path in (request.target, request.cwd) if not Path(path).exists()] if request else ["request.json"]
    if request is None or gone:
        what = f"{run.name} was never started, and {gone[0]} is no longer there"
        raise UsageError(what, where=str(run.folder), fix=START_ANEW)
    with supervising(run.folder) as mine:
        if not mine:
            what = f"another process is preparing {run.name}: it checks and rehearses the job"
            raise UsageError(what, where=str(run.folder), fix=f"wait until it is done, or `holdfast stop {run.name}`")
        if has_plan(run.folder):  # that process was done in between
            return with_secrets(run)
        request = resolve_request(request)
        run.reopen()
        with chdir(request.cwd):
            job = check_job(request, request.target, run.folder.parent)
            ready = replace(run, secrets=job.references.values)
            return prepare_run(ready, job, request, observer) or ready
