"""The backend: starts attempts as jobs, at most one for each, and follows them by their addresses."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, Self, TypeVar

from holdfast.adapters.backends.hf_jobs.addresses import JobAddress
from holdfast.adapters.backends.hf_jobs.bucket import FILES, RunBucket
from holdfast.adapters.backends.hf_jobs.hub import JobsHub
from holdfast.adapters.backends.hf_jobs.log_stream import SILENT_S, LogStream
from holdfast.adapters.backends.hf_jobs.preflight import find_obstacles
from holdfast.adapters.backends.hf_jobs.refusals import AGAIN, as_unreachable
from holdfast.adapters.backends.hf_jobs.requests import JobRequest
from holdfast.adapters.backends.hf_jobs.schedules import HfJobsSchedules
from holdfast.adapters.backends.hf_jobs.settings import JobSettings, mount_paths
from holdfast.adapters.backends.hf_jobs.states import poll_result, waiting_phase
from holdfast.adapters.clock import SystemClock
from holdfast.adapters.storage.locks import waiting_for
from holdfast.core.errors import BackendError, HoldfastError, UnreachableError, UsageError
from holdfast.core.run.backends import HF_JOBS
from holdfast.core.run.event import Liveness
from holdfast.core.run.plan import Attempt, Plan
from holdfast.core.run.usage import MachineUsage
from holdfast.ports import LogPart, NamedBackend, PollResult, RemoteFile, Retrieval, Schedules

Answer = TypeVar("Answer")
LISTED_S: Final = 60.0
"""How long the Hub may take to list a job whose submission got no answer; before that, it is not sent again."""
MEASURED_S: Final = 20.0
"""Seconds between two measurements of a job's memory."""
REFERENCE: Final = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})")
PLAINEST: Final = "cpu-basic"
"""The flavor that everybody may use."""
REQUESTS: Final = frozenset({"stop", "stacks"})
"""Files in the attempt's folder that ask the runtime for what it does on SIGTERM and SIGUSR1."""


class HfJobsBackend(NamedBackend):
    """Runs attempts as jobs of Hugging Face Jobs.

    Args:
        environment: Where the token and the values of secrets come from.
        listed_s: See `LISTED_S`.
        silent_s: See `log_stream.SILENT_S`.

    Covered: submissions whose answer is lost, machines that are lost, logs that are replayed, files that arrive late.
    Not covered: several machines; jobs that the Hub itself starts again (`attempts` of `run_job`).
    """

    capabilities = HF_JOBS

    def __init__(
        self, environment: Mapping[str, str], *, listed_s: float = LISTED_S, silent_s: float = SILENT_S
    ) -> None:
        self._environment, self._hub = environment, JobsHub(environment)
        self._listed_s, self._silent_s, self._clock = listed_s, silent_s, SystemClock()
        self._logs: dict[str, LogStream] = {}
        self._looks: dict[str, PollResult] = {}
        self._measured_s = 0.0

    @property
    def retrieval(self) -> Retrieval:
        """This backend itself."""
        return self

    @classmethod
    def open(cls, plan: Plan | None, environment: Mapping[str, str]) -> Self:
        """Return the backend for a plan; without a plan, one that follows jobs. Nothing is asked of the Hub yet.

        Raises:
            UsageError: There is no token, or the plan lacks something that a job needs.
        """
        backend = cls(environment)
        if plan is not None:
            JobSettings.of(plan)
            _require_resolved({name: environment.get(name, "") for name in plan.secrets}, "the environment")
            _require_resolved(plan.variables, "environment.variables")
            backend._hub.require_token()
        return backend

    @classmethod
    def obstacles(cls, plan: Plan | None, environment: Mapping[str, str]) -> Iterator[HoldfastError]:
        """Why the Hub would refuse a plan, as far as that can be known; without a plan, the plainest job. Nothing is sent."""
        hub = JobsHub(environment)
        if plan is not None:
            yield from find_obstacles(hub, JobSettings.of(plan))
            return
        try:
            hub.require_token()
            hub.who()
        except HoldfastError as error:
            yield error
        else:
            yield from find_obstacles(hub, JobSettings(flavor=PLAINEST, timeout_s=1))

    @classmethod
    def mounted(cls, options: Mapping[str, object]) -> tuple[str, ...]:
        """The folders of the volumes of a job."""
        return mount_paths(options)

    @classmethod
    def schedules(cls, environment: Mapping[str, str]) -> Schedules:
        """The schedules of Hugging Face Jobs."""
        return HfJobsSchedules(environment)

    def submit(self, attempt: Attempt) -> str:
        """Start the job of an attempt and return its address; a job that has the attempt's label is it."""
        settings = JobSettings.of(attempt.plan)
        request = JobRequest.of(attempt, settings, self._environment)
        with waiting_for(Path(attempt.folder, "submit.lock")):
            namespace = settings.namespace or self._hub.account()
            bucket = settings.bucket_in(namespace)
            job = self._hub.find(namespace, request.key) or self._start(namespace, bucket, request)
        address = JobAddress(namespace=namespace, job=job, bucket=bucket, folder=request.folder, attempt=attempt.number)
        return str(address)

    def poll(self, attempt_id: str) -> PollResult:
        """Return what the Hub says of the job."""
        look = self._look(attempt_id)
        if look.answer is not Liveness.UNKNOWN:
            self._looks[attempt_id] = look
        return look

    def stop(self, attempt_id: str) -> None:
        """Ask the runtime to save and end, by a file that it finds in the mounted folder; a job that waits is cancelled."""
        self._request(attempt_id, "stop")

    def request_stacks(self, attempt_id: str) -> None:
        """Ask the runtime for its stacks, likewise."""
        self._request(attempt_id, "stacks")

    def kill(self, attempt_id: str) -> None:
        """Cancel the job."""
        if address := JobAddress.parse(attempt_id):
            state = _reached(lambda: self._hub.inspect(address))
            if state and not state.has_ended:
                _reached(lambda: self._hub.cancel(address))

    def read_log(self, attempt_id: str, offset: int) -> LogPart:
        """Return part of the log. That of a job which waits for hardware is not asked for."""
        address, look = JobAddress.parse(attempt_id), self._looks.get(attempt_id)
        if address is None or (look and look.waiting):
            return LogPart(offset, b"")
        if attempt_id not in self._logs:
            hub = self._hub
            self._logs[attempt_id] = LogStream(lambda: hub.log(address), self._silent_s)
        ended = look is not None and look.answer is Liveness.ENDED
        return self._logs[attempt_id].read(offset, ended=ended)

    def list_files(self, attempt_id: str) -> Mapping[str, RemoteFile]:
        """Return the files of the run's folder in the bucket."""
        files = _reached(self._bucket(attempt_id).files)
        own = f"{FILES}/"
        return {
            path: file
            for path, file in files.items()
            if path.rpartition("/")[2] not in REQUESTS and not path.startswith(own)
        }

    def fetch_file(self, attempt_id: str, path: str, to: str) -> None:
        """Copy a file from the bucket."""
        _reached(lambda: self._bucket(attempt_id).fetch(path, to))

    def _start(self, namespace: str, bucket: str, request: JobRequest) -> str:
        """Bring the program to the bucket and start the job, unless one may have been started a moment ago.

        A file beside the program marks that a job may have been sent.
        """
        sent, folder = request.source.with_name("job.sent"), RunBucket(self._hub, bucket, request.folder)
        if sent.exists() and self._clock.now_s() - sent.stat().st_mtime < self._listed_s:
            what = "the job may have been started, and the Hub does not list it yet"
            raise UnreachableError(what, where="the Hub", fix=AGAIN)
        folder.put_program(request)
        sent.touch()
        try:
            return self._hub.run(namespace, bucket, request)
        except BackendError:
            sent.unlink()
            raise

    def _look(self, attempt_id: str) -> PollResult:
        address = JobAddress.parse(attempt_id)
        if address is None:
            return PollResult(answer=Liveness.UNKNOWN, because=f"{attempt_id!r} is not an attempt of Hugging Face Jobs")
        try:
            log = self._logs.get(attempt_id)
            watch = self._hub.watch(address.namespace)
            state = watch.state(self._hub, address, anew=log is not None and log.is_over)
        except HoldfastError as error:
            return PollResult(answer=Liveness.UNKNOWN, because=error.what)
        if state is None:
            because = f"the Hub has no job {address.namespace}/{address.job}, or does not show it to this token"
            return PollResult(answer=Liveness.UNKNOWN, because=because)
        look = poll_result(state.stage, state.message)
        if look.answer is Liveness.ALIVE and not look.waiting:
            return replace(look, usage=self._measure(address))
        if not look.waiting:
            return look
        waited_s = self._clock.now_s() - state.made_s if state.made_s is not None else 0.0
        return replace(look, phase=waiting_phase(state.flavor, waited_s, state.message))

    def _measure(self, address: JobAddress) -> MachineUsage | None:
        """Return the memory that a running job has in use, at most once in `MEASURED_S`; None if it is not known."""
        now_s = self._clock.now_s()
        if now_s - self._measured_s < MEASURED_S:
            return None
        self._measured_s = now_s
        try:
            return self._hub.usage(address)
        except HoldfastError:
            return None  # a job may end at any moment, and nothing depends on it

    def _request(self, attempt_id: str, name: str) -> None:
        address = JobAddress.parse(attempt_id)
        if address is None:
            return
        state = _reached(lambda: self._hub.inspect(address))
        if state is None or state.has_ended:
            return
        if name == "stop" and poll_result(state.stage, "").waiting:
            _reached(lambda: self._hub.cancel(address))
        else:
            put = {f"attempts/{address.attempt}/{name}": b"holdfast"}
            _reached(lambda: self._bucket(attempt_id).put(put))

    def _bucket(self, attempt_id: str) -> RunBucket:
        address = JobAddress.parse(attempt_id)
        if address is None:
            raise UnreachableError(
                f"{attempt_id!r} is not an attempt of Hugging Face Jobs", where="the ledger", fix=AGAIN
            )
        return RunBucket(self._hub, address.bucket, address.folder)


def _require_resolved(values: Mapping[str, str], where: str) -> None:
    """Refuse values that are the names of others: nothing on the way to a job looks them up.

    Raises:
        UsageError: One is.
    """
    if unresolved := next((name for name, value in values.items() if REFERENCE.fullmatch(value)), None):
        what = f"{unresolved} is the literal text {values[unresolved]!r}, which the job would get as it is"
        fix = f"name {unresolved} under `environment.secrets`, and export its value"
        raise UsageError(what, where=where, fix=fix)


def _reached(call: Callable[[], Answer]) -> Answer:
    """Return the answer to a call about an attempt that runs. Nothing that the Hub answers to it is an end.

    Raises:
        UnreachableError: There is none.
    """
    try:
        return call()
    except HoldfastError as error:
        raise as_unreachable(error) from None
