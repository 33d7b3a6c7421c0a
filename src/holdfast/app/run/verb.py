"""Starting, supervising and resuming a run."""

from functools import partial
from pathlib import Path

from holdfast.app.arguments import Overrides, PathName, Texts, as_codes, as_overrides, as_path, as_texts
from holdfast.app.run.observers import NO_OBSERVER, RunObserver
from holdfast.app.run.preparing import RefusedJob, check_job
from holdfast.app.run.resume_source import absolute_source
from holdfast.app.run.scheduling import require_schedulable, schedule_job
from holdfast.app.run.short_run import start_after_short_run
from holdfast.app.run.starting import start_run
from holdfast.app.targets.fetching import fetch_target
from holdfast.core.errors import UsageError
from holdfast.core.run.plan import RunRequest
from holdfast.core.run.schedule import parse_times
from holdfast.results.run import RunResult


def run(
    target: PathName,
    *,
    set: Overrides = (),  # noqa: A002 - the option's name
    arguments: Texts = (),
    runs: PathName | None = None,
    despite: Texts = (),
    detach: bool = False,
    offline: bool = False,
    rehearse: bool = True,
    try_first: bool = False,
    resume_from: PathName | None = None,
    schedule: str | None = None,
    observer: RunObserver = NO_OBSERVER,
) -> RunResult:
    """Check, rehearse, start and supervise a job; return when it has ended.

    >>> import holdfast
    >>> answer = holdfast.run("job.yaml", set={"train.max_steps": 20})  # doctest: +SKIP
    >>> answer["stage"], answer["output"]  # doctest: +SKIP
    ('succeeded', 'runs/job-20261121-154501-x7/model')

    Args:
        target: A job file or a script, or the address of one.
        set: Overrides of a job file's keys: a mapping, or `KEY=VALUE`.
        arguments: The script's own arguments.
        runs: The runs folder. Default: HOLDFAST_RUNS, else the job's `output.folder`.
        despite: Codes of rules that don't refuse the job.
        detach: Return at once; a supervisor continues in the background.
        offline: Don't contact the Hub when the job is checked and rehearsed.
        rehearse: Rehearse the job first, unless it already passed a rehearsal.
        try_first: Run a few steps of the job first, evaluated, saved and pushed, on the same backend. If it fails, the result is that of this short
            run, and the job is not started. `detach` still waits for the short run.
        resume_from: A checkpoint to continue from: a folder, or `hf://OWNER/NAME` for the newest one that was pushed there. It is verified first.
        schedule: When the backend starts the job by itself: `@daily`, or five fields of cron. Nothing is started now.
        observer: Follows the run; may stop it or detach from it.

    Raises:
        UsageError: There is no such target, or an argument is wrong; nothing was created. Or training cannot resume from the checkpoint.
        SourceError: The checkpoint could not be downloaded.
    """
    times = _schedule_times(schedule, resume_from, detach=detach)
    named = as_path(target)
    path = fetch_target(named, offline=offline)
    request = RunRequest(
        target=str(Path(path).absolute()),
        cwd=str(Path.cwd()),
        sets=tuple(as_overrides(set)),
        arguments=tuple(as_texts(arguments)),
        despite=tuple(as_codes(despite)),
        offline=offline,
        rehearse=rehearse,
        address=named if path != named else None,
        resume_from="" if resume_from is None else absolute_source(as_path(resume_from)),
    )
    job = check_job(request, path, runs)
    start = partial(start_run, request, job, runs, observer, detach=detach)
    if isinstance(job, RefusedJob):
        return start()
    if times is not None:
        require_schedulable(job)
        start = partial(schedule_job, request, job, runs, observer, times)
    if try_first:
        return start_after_short_run(request, path, job, runs, observer, start)
    return start()


def _schedule_times(schedule: str | None, resume_from: PathName | None, *, detach: bool) -> str | None:
    """Return the times of a schedule as a backend takes them; None without a schedule.

    Raises:
        UsageError: They are none, or another option does not go with a schedule.
    """
    if schedule is None:
        return None
    if resume_from is not None:
        what = "each job of a schedule begins anew, and cannot continue from a checkpoint"
        raise UsageError(what, where="--resume-from", fix="leave out --resume-from or --schedule")
    if detach:
        what = "a schedule has no supervisor to detach"
        raise UsageError(what, where="--detach", fix="leave out --detach: the command returns when the schedule exists")
    return parse_times(schedule)
