"""What is asked of jobs.

Source: the job methods of `huggingface_hub/hf_api.py` 2.4.0. Labels: letters, digits, `-` and `_`, at most 100 of them (`update_job_labels`), in a
name also `.` (`_sanitize_job_name`). 402 "Pre-paid credit balance is insufficient" as public clients quote it; `job.write` is what a fine-grained token
needs. The texts of the other refusals are this Hub's own.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from tests.helpers.hub.accounts import identifier
from tests.helpers.hub.exchange import HubError, Reply, as_json, no_page
from tests.helpers.hub.hardware import flavors
from tests.helpers.hub.jobs import lifecycle, logs, metrics, scheduled
from tests.helpers.hub.jobs.records import Job
from tests.helpers.hub.jobs.scheduled import ScheduledJob
from tests.helpers.hub.paging import page_of
from tests.helpers.hub.world import Visit

NO_CREDIT = "Pre-paid credit balance is insufficient - add more credits to your account to use Jobs."
One = TypeVar("One", Job, ScheduledJob)
LABEL = re.compile(r"[A-Za-z0-9_-]{0,100}")
NAME = re.compile(r"[A-Za-z0-9._-]{0,100}")


def answer(visit: Visit) -> Reply:
    """Answer /api/jobs/NAMESPACE[/ID[/...]]."""
    return _routed(visit, OF_JOBS, OF_JOB, _job)


def answer_scheduled(visit: Visit) -> Reply:
    """Answer /api/scheduled-jobs/NAMESPACE[/ID[/...]]."""
    return _routed(visit, OF_SCHEDULED_JOBS, OF_SCHEDULED_JOB, _scheduled)


def _routed(
    visit: Visit,
    of_all: Mapping[str, Callable[[Visit], Reply]],
    of_one: Mapping[tuple[str, str], Callable[[Visit, One], Reply]],
    find: Callable[[Visit], One],
) -> Reply:
    namespace, *rest = visit.rest
    method = visit.request.method.replace("HEAD", "GET")
    _check_member(visit, namespace, changes=method != "GET")
    if not rest and method in of_all:
        return of_all[method](visit)
    found = of_one.get((method, "/".join(rest[1:]))) if rest else None
    if found is None:
        raise no_page()
    return found(visit, find(visit))


def _list(visit: Visit) -> Reply:
    world, query = visit.world, visit.request.query
    stages = [value for key, value in query if key == "stage"]
    labels = [value for key, value in query if key == "label"]
    own = [job for job in reversed(list(world.jobs.all.values())) if job.namespace == visit.rest[0]]
    own = [job for job in own if all(_has(job.labels, one) for one in labels)]
    told = [job.told(visit.now_s, world.clock.skew_s) for job in own if not stages or job.stage in stages]
    return page_of(visit, told)


def _run(visit: Visit) -> Reply:
    return _submit(visit, visit.request.json(), "user")


def _told(visit: Visit, job: Job) -> Reply:
    return as_json(job.told(visit.now_s, visit.world.clock.skew_s))


def _logs(visit: Visit, job: Job) -> Reply:
    return streamed(logs.stream(visit, job))


def _metrics(visit: Visit, job: Job) -> Reply:
    if job.ended:
        raise HubError(406, "Job is not running")
    return streamed(metrics.stream(visit.world, job))


def _cancel(visit: Visit, job: Job) -> Reply:
    lifecycle.cancel(visit.world, job)
    return _told(visit, job)


def _duplicate(visit: Visit, job: Job) -> Reply:
    return _submit(visit, job.spec, "duplicated-job")


def _relabel(visit: Visit, job: Job) -> Reply:
    job.labels = _labels(visit.request.json()["labels"])
    return _told(visit, job)


def _expose(visit: Visit, job: Job) -> Reply:
    job.spec = {**job.spec, "expose": visit.request.json()}
    return _told(visit, job)


def _list_scheduled(visit: Visit) -> Reply:
    label = visit.request.get("label")
    own = [one for one in visit.world.jobs.scheduled.values() if one.namespace == visit.rest[0]]
    return as_json([one.told(visit.world) for one in own if not label or _has(one.labels, label)])


def _schedule(visit: Visit) -> Reply:
    asked = visit.request.json()
    _check(visit, asked["jobSpec"])
    return as_json(scheduled.create(visit.world, visit.rest[0], asked).told(visit.world))


def _told_scheduled(visit: Visit, kept: ScheduledJob) -> Reply:
    return as_json(kept.told(visit.world))


def _delete_scheduled(visit: Visit, kept: ScheduledJob) -> Reply:
    del visit.world.jobs.scheduled[kept.id]
    visit.world.clock.stir(kept.id)
    return Reply(status=204)


def _trigger(visit: Visit, kept: ScheduledJob) -> Reply:
    return _told(visit, kept.run(visit.world))


def _suspend(visit: Visit, kept: ScheduledJob) -> Reply:
    kept.suspend = True
    return _changed(visit, kept)


def _resume(visit: Visit, kept: ScheduledJob) -> Reply:
    kept.suspend = False
    return _changed(visit, kept)


def _reschedule(visit: Visit, kept: ScheduledJob) -> Reply:
    schedule = visit.request.json()["schedule"]
    scheduled.upcoming(schedule, visit.now_s)
    kept.schedule = schedule
    return _changed(visit, kept)


def _relabel_scheduled(visit: Visit, kept: ScheduledJob) -> Reply:
    kept.labels = _labels(visit.request.json()["labels"])
    return _changed(visit, kept)


def _changed(visit: Visit, kept: ScheduledJob) -> Reply:
    kept.next_s = None if kept.suspend else scheduled.upcoming(kept.schedule, visit.now_s)
    visit.world.clock.stir(kept.id)
    return _told_scheduled(visit, kept)


OF_JOBS = {"GET": _list, "POST": _run}
OF_JOB: dict[tuple[str, str], Callable[[Visit, Job], Reply]] = {
    ("GET", ""): _told,
    ("GET", "logs"): _logs,
    ("GET", "metrics"): _metrics,
    ("POST", "cancel"): _cancel,
    ("POST", "duplicate"): _duplicate,
    ("PUT", "labels"): _relabel,
    ("PUT", "expose"): _expose,
}
OF_SCHEDULED_JOBS = {"GET": _list_scheduled, "POST": _schedule}
OF_SCHEDULED_JOB: dict[tuple[str, str], Callable[[Visit, ScheduledJob], Reply]] = {
    ("GET", ""): _told_scheduled,
    ("DELETE", ""): _delete_scheduled,
    ("POST", "run"): _trigger,
    ("POST", "suspend"): _suspend,
    ("POST", "resume"): _resume,
    ("POST", "schedule"): _reschedule,
    ("PUT", "labels"): _relabel_scheduled,
}


def streamed(events: Iterator[bytes]) -> Reply:
    """Return a reply whose body comes bit by bit."""
    headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
    return Reply(headers=headers, stream=events)


def _check_member(visit: Visit, namespace: str, *, changes: bool) -> None:
    """Raise HubError if the token is not of somebody who belongs to the namespace, or may not run jobs where that is needed."""
    token, accounts = visit.signed_in(), visit.world.accounts
    if not accounts.belongs(token, namespace):
        known = namespace in accounts.users or namespace in accounts.organizations
        raise HubError(403, f"You are not a member of {namespace}") if known else HubError(404, "Namespace not found")
    if changes and not accounts.writes_in(token, namespace, "job.write"):
        raise HubError(403, f"Missing permissions: job.write for namespace {namespace}")


def _submit(visit: Visit, spec: Mapping[str, Any], by: str) -> Reply:
    namespace, user = visit.rest[0], visit.signed_in().user.name
    _check(visit, spec)
    if not visit.world.accounts.pays(namespace):
        raise HubError(402, NO_CREDIT)
    initiator = {"type": by, "id": identifier("user", user), "name": user}
    return _told(visit, lifecycle.submit(visit.world, spec, namespace, initiator))


def _check(visit: Visit, spec: Mapping[str, Any]) -> None:
    """Raise HubError if a job is not one that can be started."""
    told = visit.world.hardware if visit.world.hardware is not None else flavors()
    if spec.get("flavor") not in [one["name"] for one in told]:
        raise HubError(400, f"Invalid flavor: {spec.get('flavor')}")
    if not spec.get("command"):
        raise HubError(400, "command is required")
    if not spec.get("dockerImage") and not spec.get("spaceId"):
        raise HubError(400, "dockerImage or spaceId is required")
    _labels(spec.get("labels") or {})
    both = set(spec.get("environment") or {}) & set(spec.get("secrets") or {})
    if both:
        raise HubError(400, f"Both an environment variable and a secret: {', '.join(sorted(both))}")
    targets = [one["mountPath"] for one in spec.get("volumes") or []]
    if len(set(targets)) < len(targets) or not all(one.startswith("/") for one in targets):
        raise HubError(400, "Each volume needs a mount path of its own that begins with /")


def _labels(labels: Mapping[str, str]) -> dict[str, str]:
    for key, value in labels.items():
        if not LABEL.fullmatch(key) or not (NAME if key == "name" else LABEL).fullmatch(value):
            raise HubError(400, f"Invalid label: {key}={value}")
    return dict(labels)


def _has(labels: Mapping[str, str], asked: str) -> bool:
    key, equals, value = asked.partition("=")
    return labels.get(key) == value if equals else key in labels


def _job(visit: Visit) -> Job:
    job = visit.world.jobs.all.get(visit.rest[1])
    if job is None or job.namespace != visit.rest[0]:
        raise HubError(404, "Job not found")
    return job


def _scheduled(visit: Visit) -> ScheduledJob:
    found = visit.world.jobs.scheduled.get(visit.rest[1])
    if found is None or found.namespace != visit.rest[0]:
        raise HubError(404, "Scheduled job not found")
    return found
