"""What holdfast has in the account of a backend: runs that were started from any machine, and schedules."""

import os

from holdfast.app.run.backends import require_backend
from holdfast.core.errors import UsageError
from holdfast.core.run.backends import SCHEDULING, capabilities_of
from holdfast.core.run.remote_jobs import RemoteJobs
from holdfast.results.run import ListedJob, ListedSchedule, RemoteRunsResult


def remote_runs(backend: str, namespace: str | None) -> RemoteRunsResult:
    """List the jobs and the schedules that holdfast has in an account of a backend, from any machine.

    Raises:
        UsageError: There is no such backend, it lists nothing, or there is no token.
        BackendError: The token may not list them.
        UnreachableError: The backend did not answer.
    """
    place = require_backend(backend)
    if not capabilities_of(backend).has_schedules:
        what = f"the backend {backend} has no list of jobs: the runs folder has all of its runs"
        raise UsageError(what, where="--on", fix=f"leave out --on, or name {SCHEDULING}")
    return _result(place.schedules(os.environ).remote_jobs(namespace))


def _result(found: RemoteJobs) -> RemoteRunsResult:
    return RemoteRunsResult(
        verb="runs",
        account=found.account,
        jobs=[
            ListedJob(
                id=each.id,
                run=each.run,
                attempt=each.attempt,
                stage=each.stage,
                message=each.message,
                hardware=each.hardware,
                started_at=each.made_s,
                page=each.page,
            )
            for each in found.jobs
        ],
        schedules=[
            ListedSchedule(id=each.id, run=each.run, times=each.times, next_at=each.next_s, suspended=each.is_suspended)
            for each in found.schedules
        ],
        complete=found.is_whole,
    )
