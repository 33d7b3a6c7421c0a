"""Jobs and schedules in the account of a backend, as text."""

from collections.abc import Sequence

from click import style

from holdfast.cli.text.answers import render_moment
from holdfast.results.run import ListedJob, ListedSchedule, RemoteRunsResult

UNKNOWN = "unknown"


def render_remote(remote: RemoteRunsResult) -> str:
    """Return the jobs and the schedules of an account, one per line."""
    jobs = [("run", "attempt", "stage", "hardware", "started", "page"), *map(_job, remote.jobs)]
    schedules = [("schedule of", "times", "next start", "id"), *map(_schedule, remote.schedules)]
    tables = [_table(rows) for rows in (jobs, schedules) if rows[1:]]
    found = "\n\n".join(tables) or f"{remote.account} has no jobs of holdfast"
    return found if remote.complete else f"{found}\nolder jobs are not listed"


def _job(job: ListedJob) -> tuple[str, ...]:
    attempt = "schedule" if job.attempt is None else str(job.attempt)
    stage = job.stage or UNKNOWN
    return job.run, attempt, stage, job.hardware, _moment(job.started_at), job.page


def _schedule(schedule: ListedSchedule) -> tuple[str, ...]:
    following = "suspended" if schedule.suspended else _moment(schedule.next_at)
    return schedule.run, schedule.times, following, schedule.id


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    """Return rows in columns; the first row is the header."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    header, *lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return "\n".join([style(header, dim=True), *lines])


def _moment(at_s: float | None) -> str:
    return UNKNOWN if at_s is None else render_moment(at_s)
