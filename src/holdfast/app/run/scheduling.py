"""Scheduling a job: its backend starts it at certain times by itself, until `holdfast stop` removes the schedule."""

import os
from typing import Final

from msgspec import structs

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.payload import load_runtime
from holdfast.adapters.storage.run_folder import load_plan, supervising, write_whole
from holdfast.app.arguments import PathName
from holdfast.app.run.backends import open_backend, open_schedules
from holdfast.app.run.observers import RunObserver
from holdfast.app.run.preparing import CheckedJob, RunClosed
from holdfast.app.run.runs import Run
from holdfast.app.run.starting import begin_run
from holdfast.core.backends import BACKEND_KEY, BACKENDS, capabilities_of
from holdfast.core.errors import BackendError, UnreachableError, UsageError
from holdfast.core.event import RunScheduled, RunStage
from holdfast.core.plan import Attempt, Plan, RunRequest
from holdfast.core.schedule import JobSchedule, parse_times
from holdfast.engine.run.answers import run_result
from holdfast.engine.run.attempt import render_attempt
from holdfast.results.run import RunResult

UNSUPERVISED: Final = (
    "No supervisor follows its jobs: they save and push, and are not continued, evaluated or exported."
)


def require_schedulable(request: RunRequest, job: CheckedJob, times: str) -> str:
    """Return the times of a schedule as a backend takes them.

    Raises:
        UsageError: They are none, the job's backend has no schedules, or the job continues from a checkpoint.
    """
    parsed = parse_times(times)
    if request.resume_from:
        what = "each job of a schedule begins anew, and cannot continue from a checkpoint"
        raise UsageError(what, where="--resume-from", fix="leave out --resume-from or --schedule")
    if job.plan and not capabilities_of(job.plan.backend).has_schedules:
        fitting = ", ".join(name for name, each in BACKENDS.items() if each.has_schedules)
        what = f"the backend {job.plan.backend} starts no job by itself"
        raise UsageError(
            what, where=BACKEND_KEY, fix=f"`--on {fitting}`, or start `holdfast run` with this machine's cron"
        )
    return parsed


def schedule_job(
    request: RunRequest, job: CheckedJob, runs: PathName | None, observer: RunObserver, times: str
) -> RunResult:
    """Record a run of a checked job, rehearse it, and have its backend start it at certain times.

    Args:
        request: How it was requested.
        job: The job.
        runs: The runs folder. Default: HOLDFAST_RUNS, else the job's `output.folder`.
        observer: Follows the run.
        times: When jobs start, as `require_schedulable` returned it.
    """
    try:
        begun = begin_run(request, job, runs, observer)
    except RunClosed as closed:
        return closed.result
    with supervising(begun.folder):
        return _schedule(begun, times)


def _schedule(run: Run, times: str) -> RunResult:
    plan = load_plan(run.folder)
    environment = {**os.environ, **run.secrets}
    open_backend(plan, environment)  # refuses what is missing
    attempt = _first_attempt(run, plan)
    try:
        found = open_schedules(plan.backend, environment).create(attempt, times)
    except (BackendError, UnreachableError) as error:
        run.close(RunStage.FAILED, f"not scheduled: {error.what}")
        raise
    scheduled = RunScheduled(
        at_s=SystemClock().now_s(), backend=plan.backend, schedule=JobSchedule(times=times, id=found)
    )
    run.ledger.append(run.name, [scheduled])
    return structs.replace(run_result(run.name, run.state()), summary=UNSUPERVISED)


def _first_attempt(run: Run, plan: Plan) -> Attempt:
    """Return the attempt whose program each job of a schedule runs."""
    folder = run.folder / "attempts" / "1"
    write_whole(folder / "attempt.py", render_attempt(plan.script, plan.script_name, load_runtime()))
    return Attempt(run=run.name, number=1, folder=str(folder), plan=plan)
