"""Jobs at times: a thread starts each when the Hub's clock comes to it.

Source: `ScheduledJobInfo`, `ScheduledJobStatus` and `LastJobInfo` of `huggingface_hub/_jobs_api.py` 2.4.0; a run that is asked for while another runs is
409 where `concurrency` is not allowed (`HfApi.trigger_scheduled_job`), and a run at a time is left out then (https://huggingface.co/docs/hub/jobs-schedule).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Thread
from typing import Any

from tests.helpers.hub.accounts import identifier
from tests.helpers.hub.exchange import HubError
from tests.helpers.hub.jobs.cron import next_run
from tests.helpers.hub.jobs.lifecycle import NUMBERS, submit
from tests.helpers.hub.jobs.records import PASSED_ON, Job
from tests.helpers.hub.repositories import iso
from tests.helpers.hub.world import World


@dataclass(slots=True, kw_only=True)
class ScheduledJob:
    """A job at times.

    Attributes:
        next_s: When it runs next; None while it is suspended.
        last: The job that it started last.
    """

    id: str
    namespace: str
    spec: Mapping[str, Any]
    schedule: str
    suspend: bool
    concurrency: bool
    made_s: float
    next_s: float | None
    labels: dict[str, str]
    last: Job | None = None

    def told(self, world: World) -> dict[str, Any]:
        """Return what the Hub says of it."""
        spec = {key: self.spec[key] for key in PASSED_ON if key in self.spec}
        kind = "user" if self.namespace in world.accounts.users else "org"
        status: dict[str, Any] = {"nextJobRunAt": iso(self.next_s) if self.next_s is not None else None}
        if self.last is not None:
            status["lastJob"] = {"id": self.last.id, "at": iso(self.last.made_s)}
        return {
            "id": self.id,
            "createdAt": iso(self.made_s),
            "schedule": self.schedule,
            "suspend": self.suspend,
            "concurrency": self.concurrency,
            "status": status,
            "owner": {"id": identifier(kind, self.namespace), "name": self.namespace, "type": kind},
            "jobSpec": spec
            | {
                "timeout": self.spec.get("timeoutSeconds"),
                "labels": self.labels,
                "secrets": list(self.spec.get("secrets") or {}),
                "retry": int(self.spec.get("attempts") or 1) - 1,
            },
        }

    def run(self, world: World) -> Job:
        """Start it now. Raises HubError if it runs and may not twice."""
        if not self.concurrency and self.last is not None and not self.last.ended:
            raise HubError(409, "Another instance of this scheduled job is already running")
        initiator = {"type": "scheduled-job", "id": self.id}
        self.last = submit(world, {**self.spec, "labels": self.labels}, self.namespace, initiator)
        return self.last


def create(world: World, namespace: str, asked: Mapping[str, Any]) -> ScheduledJob:
    """Take a job at times. Raises HubError if its schedule is none."""
    now_s = world.clock.now_s
    made = ScheduledJob(
        id=identifier("scheduled", namespace, world.address, str(next(NUMBERS))),
        namespace=namespace,
        spec=asked["jobSpec"],
        schedule=asked["schedule"],
        suspend=bool(asked.get("suspend")),
        concurrency=bool(asked.get("concurrency")),
        made_s=now_s,
        next_s=None if asked.get("suspend") else upcoming(asked["schedule"], now_s),
        labels=dict(asked["jobSpec"].get("labels") or {}),
    )
    upcoming(made.schedule, now_s)
    world.jobs.scheduled[made.id] = made
    Thread(target=_keep, args=(world, made), daemon=True).start()
    return made


def upcoming(schedule: str, now_s: float) -> float:
    """Return when a schedule comes next. Raises HubError if it is none."""
    try:
        return next_run(schedule, now_s)
    except ValueError as error:
        raise HubError(400, f"Invalid schedule: {schedule}") from error


def _keep(world: World, kept: ScheduledJob) -> None:
    while not (world.closing.is_set() or kept.id not in world.jobs.scheduled):
        if _comes(world, kept, kept.next_s):
            with world.lock:
                kept.next_s = upcoming(kept.schedule, world.clock.now_s)
                if kept.concurrency or kept.last is None or kept.last.ended:
                    kept.run(world)


def _comes(world: World, kept: ScheduledJob, next_s: float | None) -> bool:
    """Wait for a time, and return True if it has come and nothing has changed before."""

    def changed() -> bool:
        return world.closing.is_set() or kept.id not in world.jobs.scheduled or kept.next_s != next_s

    return not world.clock.wait(kept.id, changed, next_s if next_s is not None else float("inf"))
