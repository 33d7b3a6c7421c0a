"""The short run of a job, with `--try`: a run of its own, which decides whether the job is started."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from msgspec import structs

from holdfast.app.arguments import PathName
from holdfast.app.run.observers import RunObserver
from holdfast.app.run.preparing import CheckedJob, check_job
from holdfast.app.run.starting import start_run
from holdfast.core.errors import UsageError
from holdfast.core.run.event import RunStage
from holdfast.core.run.plan import RunRequest
from holdfast.engine.run.naming import name_job
from holdfast.engine.run.short_run import SUFFIX, short_run_overrides
from holdfast.results.run import RunResult

NOT_STARTED: Final = "The short run did not succeed, so the job was not started."
GOES_ON: Final = "The short run goes on in the background, and the job was not started."


def start_after_short_run(
    request: RunRequest,
    path: str,
    job: CheckedJob,
    runs: PathName | None,
    observer: RunObserver,
    start: Callable[[], RunResult],
) -> RunResult:
    """Run a short run of a job, then the job; if the short run did not succeed, return its result.

    Args:
        request: How the job was requested.
        path: Its file.
        job: The job, checked.
        runs: The runs folder.
        observer: Follows both runs.
        start: Starts or schedules the job itself.

    Raises:
        UsageError: The target is a script, whose steps only its author can make few.
    """
    short = _try_job(request, path, job, runs, observer)
    if short.exit_code or short.stage is not RunStage.SUCCEEDED:  # it failed, was stopped, or goes on in the background
        said = NOT_STARTED if short.stage.ended else GOES_ON
        return structs.replace(short, summary=f"{said} {short.summary or short.because}")
    observer.on_short_run(f"{short.run} succeeded. {short.summary or ''}".rstrip())
    return structs.replace(start(), short_run=short.run)


def _try_job(
    request: RunRequest, path: str, job: CheckedJob, runs: PathName | None, observer: RunObserver
) -> RunResult:
    """Run a short run of a job; return when it has ended."""
    if job.target.job is None:
        what = f"{Path(path).name} is not a job file: holdfast cannot tell it to train for a few steps"
        fix = "leave out --try, and run the script with a few steps first: `-- --max_steps 4`, if it has such an option"
        raise UsageError(what, where="--try", fix=fix)
    name = name_job(job.target.job, path)
    observer.on_short_run(f"{name}{SUFFIX} comes first; if it succeeds, {name} is started")
    if job.planned:
        observer.on_short_run(f"{name} itself: {job.planned.splitlines()[0]}")
    tried = replace(request, sets=(*request.sets, *short_run_overrides(job.target.job, name)), resume_from="")
    return start_run(tried, check_job(tried, path, runs), runs, observer)
