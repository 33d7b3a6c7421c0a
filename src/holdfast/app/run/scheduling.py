"""Scheduling a job: its backend starts it at certain times by itself, until `holdfast stop` removes the schedule."""

import os
from typing import Final

from msgspec import structs

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.payload import load_runtime
from holdfast.adapters.storage.run_folder import load_plan, supervising, write_whole
from holdfast.app.arguments import PathName
from holdfast.app.run.backends import open_backend, require_backend
from holdfast.app.run.observers import RunObserver
from holdfast.app.run.preparing import CheckedJob
from holdfast.app.run.runs import Run
from holdfast.app.run.starting import begin_run
from holdfast.app.run.stopping import unschedule
from holdfast.core.errors import BackendError, UnreachableError, UsageError
from holdfast.core.run.backends import BACKEND_KEY, SCHEDULING, capabilities_of
from holdfast.core.run.event import RunScheduled, RunStage
from holdfast.core.run.plan import Attempt, Plan, RunRequest
from holdfast.core.run.schedule import JobSchedule
from holdfast.engine.run.answers import run_result
from holdfast.engine.run.attempt import render_attempt
from holdfast.results.run import RunResult

BUDGET_KEY: Final = "where.budget_usd"
UNSUPERVISED: Final = (
    "No supervisor follows its jobs: they save and push, and are not continued, evaluated or exported."
)


def require_schedulable(job: CheckedJob) -> None:
    """Refuse a job that no backend can start by itself.

    Raises:
        UsageError: Its backend has no schedules, or it has a budget.
    """
    if not capabilities_of(job.plan.backend).has_schedules:
        what = f"the backend {job.plan.backend} starts no job by itself"
        fix = f"`--on {SCHEDULING}`, or start `holdfast run` with this machine's cron"
        raise UsageError(what, where=BACKEND_KEY, fix=fix)
    if job.plan.budget_usd is not None:
        what = "no supervisor follows the jobs of a schedule, so nothing can keep them within a budget"
        raise UsageError(what, where=BUDGET_KEY, fix="remove the budget, and limit each job by `where.timeout`")


def schedule_job(
    request: RunRequest, job: CheckedJob, runs: PathName | None, observer: RunObserver, times: str
) -> RunResult:
    """Record a run of a checked job, rehearse it, and have its backend start it at certain times.

    Args:
        request: How it was requested.
        job: The job.
        runs: The runs folder. Default: HOLDFAST_RUNS, else the job's `output.folder`.
        observer: Follows the run.
        times: When jobs start, as `parse_times` returned it.

    Raises:
        BackendError: The backend refuses the schedule.
        UnreachableError: It is not known whether it was created; `holdfast stop` removes it.
    """
    begun = begin_run(request, job, runs, observer)
    if isinstance(begun, RunResult):
        return begun
    with supervising(begun.folder) as mine:
        return _schedule(begun, times) if mine else run_result(begun.name, begun.state())


def _schedule(run: Run, times: str) -> RunResult:
    """Create the schedule of a run. The ledger has it before, so that `stop` finds it even if this process is killed."""
    plan = load_plan(run.folder)
    environment = {**os.environ, **run.secrets}
    schedules = require_backend(plan.backend).schedules(environment)
    attempt = _first_attempt(run, plan)
    try:
        open_backend(plan, environment)  # refuses what is missing
        schedule = JobSchedule(times=times, id=schedules.address(attempt))
        scheduled = RunScheduled(at_s=SystemClock().now_s(), backend=plan.backend, schedule=schedule)
        run.ledger.append(run.name, [scheduled])
        schedules.create(attempt, schedule)
    except UnreachableError as error:
        known = f"`holdfast runs --on {plan.backend}` shows whether it exists, `holdfast stop {run.name}` removes it"
        raise UnreachableError(error.what, where=error.where, fix=known) from None
    except (BackendError, UsageError) as error:
        run.close(RunStage.FAILED, f"not scheduled: {error.what}")
        raise
    if run.state().stop:  # by `holdfast stop`, meanwhile
        return unschedule(run, scheduled)
    return structs.replace(run_result(run.name, run.state()), summary=UNSUPERVISED)


def _first_attempt(run: Run, plan: Plan) -> Attempt:
    """Return the attempt whose program each job of a schedule runs."""
    folder = run.folder / "attempts" / "1"
    write_whole(folder / "attempt.py", render_attempt(plan.script, plan.script_name, load_runtime()))
    return Attempt(run=run.name, number=1, folder=str(folder), plan=plan)
