"""The Hub's jobs and buckets, through `HfApi` of huggingface_hub 2.4.

The client sends what starts, inspects or cancels a job once, and waits without a limit. So each call has a limit here, and each
names the namespace: without one, the client asks for it first.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import quote

from holdfast.adapters.backends.hf_jobs.addresses import JobAddress
from holdfast.adapters.backends.hf_jobs.job_watch import JobWatch, shared_watch
from holdfast.adapters.backends.hf_jobs.refusals import AGAIN, explain
from holdfast.adapters.backends.hf_jobs.requests import ATTEMPT_LABEL, MOUNT, UV_IMAGE, JobRequest
from holdfast.adapters.backends.hf_jobs.states import ALIVE, JobState, parse_state, parse_usage
from holdfast.adapters.hub.accounts import parse_account
from holdfast.adapters.hub.settings import find_token, read_settings
from holdfast.core.check.hub import Account
from holdfast.core.errors import BackendError, UnreachableError, UsageError
from holdfast.core.outcome import Raised, outcome_of
from holdfast.core.run.usage import MachineUsage

if TYPE_CHECKING:
    from huggingface_hub import HfApi, Volume

Answer = TypeVar("Answer")
CALL_S: Final = 60.0
"""How long the Hub may take for an answer."""
TRANSFER_S: Final = 1800.0
"""How long files may take."""
MEASURE_S: Final = 5.0
"""How long a measurement may take; the Hub has one every second."""
KEEP_ALIVE_S: Final = 90.0
"""How long a stream may be silent; the Hub gives a sign of life every 30 seconds."""
NEEDED: Final = ("run_job", "list_jobs", "create_bucket", "batch_bucket_files")
"""Methods that older clients lack."""


class JobsHub:
    """Jobs and buckets, as one token sees them.

    Args:
        environment: Where the address of the Hub and the token come from; without them, huggingface_hub's own.

    Every method raises BackendError for a refusal, UnreachableError where it is not known what was done.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def watch(self, namespace: str) -> JobWatch:
        """Return the watch of an account's jobs."""
        return shared_watch(self._endpoint, self._token(), namespace)

    def require_token(self) -> None:
        """Refuse to go on without a token.

        Raises:
            UsageError: There is none.
        """
        if not self._token():
            fix = "`hf auth login`, or set HF_TOKEN to a token that may write"
            raise UsageError("Hugging Face Jobs need a token, and there is none", where="the environment", fix=fix)

    def who(self) -> Account:
        """Return the token's account, and what it may do."""
        return self.ask("ask whose token it is", lambda api: parse_account(api.whoami()))

    def account(self) -> str:
        """Return the name of the token's account."""
        return self.who().name

    def flavors(self) -> tuple[str, ...]:
        """Return the names of the hardware that there is."""
        return self.ask("list the hardware", lambda api: tuple(each.name for each in api.list_jobs_hardware()))

    def bucket_is_private(self, name: str) -> bool | None:
        """True if a bucket is private, and None if there is none yet."""

        def look(api: "HfApi") -> bool | None:
            from huggingface_hub.errors import BucketNotFoundError

            try:
                return bool(api.bucket_info(name).private)
            except BucketNotFoundError:
                return None

        return self.ask(f"look at the bucket {name}", look)

    def find(self, namespace: str, key: str) -> str | None:
        """Return the id of the job that has a label of an attempt: of several, the oldest; None if there is none."""
        labels = {ATTEMPT_LABEL: key}

        def find(api: "HfApi") -> str | None:
            listed = list(api.list_jobs(namespace=namespace, labels=labels, timeout=int(CALL_S)))
            own = [job for job in listed if (job.labels or {}).get(ATTEMPT_LABEL) == key]
            own.sort(key=lambda job: job.created_at.timestamp() if job.created_at else 0.0)
            return own[0].id if own else None

        return self.ask("list the jobs", find)

    def run(self, namespace: str, bucket: str, request: JobRequest) -> str:
        """Start a job and return its id."""

        def run(api: "HfApi") -> str:
            settings = request.settings
            return api.run_job(
                image=settings.image or UV_IMAGE,
                command=request.command,
                env=dict(request.variables),
                secrets=dict(request.secrets),
                flavor=settings.flavor,
                timeout=settings.timeout_s,
                labels=request.labels,
                volumes=volumes_of_request(bucket, request),
                expose=list(settings.ports) or None,
                resource_group_id=settings.resource_group,
                namespace=namespace,
            ).id

        return self.ask("start the job", run)

    def inspect(self, address: JobAddress) -> JobState | None:
        """Return the state of a job; None if the Hub has no such job, or does not show it to this token."""

        def inspect(api: "HfApi") -> JobState | None:
            from huggingface_hub.errors import JobNotFoundError

            try:
                info = api.inspect_job(job_id=address.job, namespace=address.namespace)
            except JobNotFoundError:
                return None
            return parse_state(info)

        return self.ask("look at the job", inspect)

    def unfinished(self, namespace: str) -> Mapping[str, JobState]:
        """Return the states of an account's jobs that have not ended, by their ids."""

        def find(api: "HfApi") -> Mapping[str, JobState]:
            listed = api.list_jobs(namespace=namespace, status=list(ALIVE), timeout=int(CALL_S))
            return {info.id: parse_state(info) for info in listed}

        return self.ask("list the jobs", find)

    def usage(self, address: JobAddress) -> MachineUsage | None:
        """Return the memory that a running job's machine has in use; None if the Hub measures none."""

        def measure(api: "HfApi") -> MachineUsage | None:
            measured = api.fetch_job_metrics(job_id=address.job, namespace=address.namespace)
            return next(map(parse_usage, measured), None)

        return self.ask("measure the job", measure, MEASURE_S)

    def cancel(self, address: JobAddress) -> None:
        """Cancel a job; one that has ended keeps its end."""
        self.ask("cancel the job", lambda api: api.cancel_job(job_id=address.job, namespace=address.namespace))

    @contextmanager
    def log(self, address: JobAddress) -> Iterator[Iterable[bytes]]:
        """Give the stream of a job's log, from its first line on, in pieces. It may raise whatever the client or its transport raises."""
        utils = import_module("huggingface_hub.utils")
        url = f"{self._endpoint}/api/jobs/{quote(address.namespace)}/{quote(address.job)}/logs"
        headers = utils.build_hf_headers(token=self._token() or False)
        with utils.get_session().stream("GET", url, headers=headers, timeout=KEEP_ALIVE_S) as response:
            if response.status_code >= 400:  # noqa: PLR2004 - as HTTP has it
                response.read()
            utils.hf_raise_for_status(response)
            yield response.iter_bytes()

    def ask(self, doing: str, call: Callable[["HfApi"], Answer], limit_s: float = CALL_S) -> Answer:
        """Return the answer to a call of the client.

        Args:
            doing: What is asked, for people: `start the job`.
            call: The call.
            limit_s: How long is waited for its answer.
        """
        answers = SimpleQueue[Answer | Raised]()
        Thread(
            target=lambda: answers.put(outcome_of(lambda: call(self._api()))), daemon=True, name="holdfast-jobs"
        ).start()
        try:
            answer = answers.get(timeout=limit_s)
        except Empty:
            what = f"cannot {doing}: the Hub did not answer within {limit_s:g} s"
            raise UnreachableError(what, where=self._endpoint, fix=AGAIN) from None
        if isinstance(answer, Raised):
            raise explain(answer.error, doing) from None
        return answer

    def _api(self) -> "HfApi":
        from huggingface_hub import HfApi, __version__

        if not all(hasattr(HfApi, name) for name in NEEDED):
            what = f"huggingface_hub {__version__} knows no jobs with buckets"
            raise BackendError(what, where="this environment", fix="pip install -U 'huggingface_hub>=2.4'")
        import_module("huggingface_hub.utils").disable_progress_bars()
        return HfApi(endpoint=self._endpoint, token=self._token() or False)

    @property
    def _endpoint(self) -> str:
        return read_settings(self._environment).endpoint

    def _token(self) -> str | None:
        return self._environment.get("HF_TOKEN") or find_token()


def volumes_of_request(bucket: str, request: JobRequest) -> "list[Volume]":
    """Return the volumes of a job as the client takes them: the attempt's own folder, and those of the job's settings."""
    from huggingface_hub import Volume

    folder = Volume(type="bucket", source=bucket, mount_path=MOUNT, path=request.folder, read_only=False)
    parse = import_module("huggingface_hub.utils").parse_hf_mount
    named = [(each, each.source) for each in map(parse, request.settings.volumes)]
    others = [
        Volume(
            type=source.type,
            source=source.id,
            mount_path=mount.mount_path,
            read_only=mount.read_only is not False,  # without a mode it is only read
            path=source.path_in_repo or None,
            revision=source.revision or None,
        )
        for mount, source in named
    ]
    return [folder, *others]
