"""The short run of a job, with `--try`: a run of its own, which decides whether the job is started."""

from dataclasses import replace
from pathlib import Path

from holdfast.app.arguments import PathName
from holdfast.app.run.preparing import CheckedJob, check_job
from holdfast.app.run.runs import RunObserver
from holdfast.app.run.starting import start_run
from holdfast.core.errors import UsageError
from holdfast.core.plan import RunRequest
from holdfast.engine.run.launch import name_job
from holdfast.engine.run.short_run import SUFFIX, short_run_overrides
from holdfast.results.run import RunResult


def try_job(request: RunRequest, path: str, job: CheckedJob, runs: PathName | None, observer: RunObserver) -> RunResult:
    """Run a short run of a job; return when it has ended.

    Args:
        request: How the job was requested.
        path: Its file.
        job: The job, checked.
        runs: The runs folder.
        observer: Follows the short run.

    Raises:
        UsageError: The target is a script, whose steps only its author can make few.
    """
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
