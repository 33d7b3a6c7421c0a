"""Schedules: jobs that the Hub starts by itself, each in a folder of its own, and the list of everything that holdfast has there.

Source: huggingface_hub 2.4.0 (`create_scheduled_job`, `list_scheduled_jobs`, `list_jobs`); the variable JOB_ID is that of the
"Built-in environment variables" in https://huggingface.co/docs/hub/jobs-configuration.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from holdfast.adapters.backends.hf_jobs.bucket import RunBucket
from holdfast.adapters.backends.hf_jobs.hub import CALL_S, JobsHub, volumes_of_request
from holdfast.adapters.backends.hf_jobs.requests import ATTEMPT_LABEL, MOUNT, RUN_LABEL, UV_IMAGE, JobRequest, label_of
from holdfast.adapters.backends.hf_jobs.settings import JobSettings
from holdfast.core.errors import UnreachableError
from holdfast.core.run.event import RunStage
from holdfast.core.run.plan import Attempt
from holdfast.core.run.remote_jobs import RemoteJob, RemoteJobs, RemoteSchedule
from holdfast.core.run.schedule import JobSchedule

if TYPE_CHECKING:
    from huggingface_hub import HfApi

SCHEDULE_LABEL: Final = "holdfast-schedule"
IN_ITS_OWN_FOLDER: Final = f"""\
export HOLDFAST_RUN={MOUNT}/jobs/$JOB_ID
export HOLDFAST_ATTEMPT=$HOLDFAST_RUN/attempts/1 HOLDFAST_STARTED=$(date +%Y%m%d-%H%M%S)
exec "$0" "$@"
"""
"""What the shell of each job runs before its command: a schedule starts the same command again and again."""
MOST_JOBS: Final = 1000
"""How many jobs of an account are looked at."""
STAGES: Final[Mapping[str, RunStage]] = {
    "SCHEDULING": RunStage.QUEUED,
    "RUNNING": RunStage.RUNNING,
    "UPDATING": RunStage.RUNNING,
    "COMPLETED": RunStage.SUCCEEDED,
    "ERROR": RunStage.FAILED,
    "CANCELED": RunStage.CANCELLED,
    "DELETED": RunStage.CANCELLED,
}
DIGEST: Final = re.compile(r"-[0-9a-f]{10}$")


class HfJobsSchedules:
    """The schedules of Hugging Face Jobs, as one token sees them.

    Args:
        environment: Where the token and the values of secrets come from.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment, self._hub = environment, JobsHub(environment)

    def address(self, attempt: Attempt) -> str:
        """Return the account and the label of the schedule of an attempt's run.

        Raises:
            BackendError: The Hub refuses the token.
            UnreachableError: The Hub did not answer.
        """
        namespace = JobSettings.of(attempt.plan).namespace or self._hub.account()
        return f"{namespace}/{label_of(attempt.run, attempt.run_id)}"

    def create(self, attempt: Attempt, schedule: JobSchedule) -> None:
        """Have the Hub start an attempt's program by a schedule, unless it exists.

        Raises:
            BackendError: The Hub refuses it.
            UnreachableError: It is not known whether it was created.
        """
        settings = JobSettings.of(attempt.plan)
        request = JobRequest.of(attempt, settings, self._environment)
        namespace, _, label = schedule.id.rpartition("/")
        bucket = settings.bucket_in(namespace)
        RunBucket(self._hub, bucket, request.folder).put_program(request)
        if self._find(namespace, label):
            return
        try:
            self._create(namespace, bucket, request, schedule.times)
        except UnreachableError:
            if not self._find(namespace, label):  # else it arrived, and its answer did not
                raise

    def remove(self, address: str) -> None:
        """Have a schedule start nothing any more; one that is gone stays so.

        Raises:
            BackendError: The token may not.
            UnreachableError: It is not known whether it was removed.
        """
        namespace, _, label = address.rpartition("/")
        for schedule in self._find(namespace, label):
            self._remove(namespace, schedule)

    def remote_jobs(self, namespace: str | None = None) -> RemoteJobs:
        """Return what holdfast has started, or is to start, in an account.

        Args:
            namespace: The account. Default: that of the token.

        Raises:
            UsageError: There is no token.
            BackendError: The token may not list them.
            UnreachableError: The Hub did not answer.
        """
        self._hub.require_token()
        account = namespace or self._hub.account()
        newest = self._hub.ask(
            "list the jobs", lambda api: _newest_first(api.list_jobs(namespace=account, timeout=int(CALL_S)))
        )
        scheduled = self._hub.ask("list the schedules", lambda api: list(api.list_scheduled_jobs(namespace=account)))
        return RemoteJobs(
            account=account,
            jobs=[_job(info) for info in newest[:MOST_JOBS] if RUN_LABEL in (info.labels or {})],
            schedules=[_schedule(info) for info in scheduled if RUN_LABEL in (info.job_spec.labels or {})],
            is_whole=len(newest) <= MOST_JOBS,
        )

    def _create(self, namespace: str, bucket: str, request: JobRequest, times: str) -> None:
        settings, label = request.settings, request.folder

        def create(api: "HfApi") -> None:
            api.create_scheduled_job(
                image=settings.image or UV_IMAGE,
                command=["sh", "-c", IN_ITS_OWN_FOLDER, *request.command],
                schedule=times,
                env=dict(request.variables),
                secrets=dict(request.secrets),
                flavor=settings.flavor,
                timeout=settings.timeout_s,
                labels={"name": label, RUN_LABEL: label, SCHEDULE_LABEL: label},
                volumes=volumes_of_request(bucket, request),
                expose=list(settings.ports) or None,
                resource_group_id=settings.resource_group,
                namespace=namespace,
            )

        self._hub.ask("create the schedule", create)

    def _find(self, namespace: str, label: str) -> list[str]:
        """Return the ids of the schedules with a label."""
        labels = {SCHEDULE_LABEL: label}

        def find(api: "HfApi") -> list[str]:
            return [each.id for each in api.list_scheduled_jobs(namespace=namespace, labels=labels)]

        return self._hub.ask("list the schedules", find)

    def _remove(self, namespace: str, schedule: str) -> None:
        def remove(api: "HfApi") -> None:
            from huggingface_hub.errors import JobNotFoundError

            with suppress(JobNotFoundError):
                api.delete_scheduled_job(scheduled_job_id=schedule, namespace=namespace)

        self._hub.ask("remove the schedule", remove)


def _newest_first(listed: Iterable[Any]) -> list[Any]:
    """Return the jobs that a list begins with, at most one more than are looked at, the newest first."""
    first = islice(listed, MOST_JOBS + 1)
    return sorted(first, key=lambda info: info.created_at.timestamp() if info.created_at else 0.0, reverse=True)


def _job(info: Any) -> RemoteJob:
    """Return a job from huggingface_hub's `JobInfo`."""
    stage, labels = info.status.stage, info.labels or {}
    _, _, attempt = labels.get(ATTEMPT_LABEL, "").rpartition("-")
    return RemoteJob(
        id=info.id,
        run=_run(labels),
        attempt=int(attempt) if attempt.isdigit() else None,
        stage=STAGES.get(str(getattr(stage, "value", stage))),
        message=info.status.message or "",
        hardware=str(getattr(info.flavor, "value", info.flavor) or ""),
        made_s=info.created_at.timestamp() if info.created_at else None,
        page=info.url,
    )


def _schedule(info: Any) -> RemoteSchedule:
    """Return a schedule from huggingface_hub's `ScheduledJobInfo`."""
    following = info.status.next_job_run_at
    return RemoteSchedule(
        id=info.id,
        run=_run(info.job_spec.labels),
        times=info.schedule or "",
        next_s=following.timestamp() if following else None,
        is_suspended=bool(info.suspend),
    )


def _run(labels: Mapping[str, str]) -> str:
    """Return the name of a run from its label, which ends with a digest."""
    return DIGEST.sub("", labels[RUN_LABEL])
