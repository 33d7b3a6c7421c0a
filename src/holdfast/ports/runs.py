"""What runs attempts, brings their output, and keeps their events; and what a supervisor listens to."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, Self

from holdfast.core.errors import HoldfastError
from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.backends import BackendCapabilities
from holdfast.core.run.checkpoint import CheckpointIntegrity
from holdfast.core.run.event import Event, Liveness, Reported, ReportsLost
from holdfast.core.run.plan import Attempt, Plan
from holdfast.core.run.remote_jobs import RemoteJobs
from holdfast.core.run.schedule import JobSchedule
from holdfast.core.run.usage import MachineUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class PollResult:
    """The result of polling an attempt once.

    Attributes:
        answer: Alive, ended or unknown.
        exit_code: The exit code of an ended attempt; negative for a signal, None if it is unknown.
        because: Why the answer is unknown, or why the attempt could not start.
        phase: What the backend does with a living attempt, in words: `queued for hardware`; empty if it runs.
        waiting: Whether the attempt has not started yet, so that its timeout does not count.
        ended_s: Unix time at which an ended attempt gave its last sign of life; None if the backend does not know it.
        usage: The memory that the machine of a living attempt has in use; None if it was not measured.
    """

    answer: Liveness
    exit_code: int | None = None
    because: str = ""
    phase: str = ""
    waiting: bool = False
    ended_s: float | None = None
    usage: MachineUsage | None = None


@dataclass(frozen=True, slots=True)
class LogPart:
    """Part of an attempt's log: both streams together, in bytes.

    Attributes:
        offset: Where the part begins in the whole log.
        data: Its bytes. Some may be missing or damaged: connections break, and services lose lines.
    """

    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a run on another machine.

    Attributes:
        size: Its bytes.
        version: Another text once the file was written again: an etag, a digest, the time of the change.
    """

    size: int
    version: str


class Retrieval(Protocol):
    """Brings what an attempt wrote to this machine. Every method raises UnreachableError if the backend cannot be reached."""

    def read_log(self, attempt_id: str, offset: int) -> LogPart:
        """Return a part of the log that begins at `offset` or before it. It may end before the log does; an empty one does not mean that the log has ended.

        Raises:
            LogGoneError: The service says that it does not have the log any more.
        """
        ...

    def list_files(self, attempt_id: str) -> Mapping[str, RemoteFile]:
        """Return each file in the folder of the attempt's run there, by its path in that folder."""
        ...

    def fetch_file(self, attempt_id: str, path: str, to: str) -> None:
        """Copy one of these files to a path on this machine, where it appears whole or not at all."""
        ...


class Schedules(Protocol):
    """The schedules of a backend, in an account. Every method raises BackendError for a refusal, UnreachableError if the outcome is not known."""

    def address(self, attempt: Attempt) -> str:
        """Return where the schedule of an attempt's run is, or will be."""
        ...

    def create(self, attempt: Attempt, schedule: JobSchedule) -> None:
        """Have the program of an attempt started by a schedule, unless it exists. Its id is what `address` returned."""
        ...

    def remove(self, address: str) -> None:
        """Remove a schedule, if it exists. What it has started goes on."""
        ...

    def remote_jobs(self, namespace: str | None = None) -> RemoteJobs:
        """Return all jobs and schedules that holdfast has in an account, from any machine. Default: the account of the token."""
        ...


class Backend(Protocol):
    """A place that runs attempts.

    Each method may be called again, by another process too: what was done is not done twice. A method that does something
    raises UnreachableError if it is not known whether that was done.
    """

    capabilities: BackendCapabilities
    """What it can do, and its name in job files."""

    @property
    @abstractmethod
    def retrieval(self) -> Retrieval | None:
        """What brings logs, events and files here. None if the run's folder is shared: then the attempt writes them there."""
        ...

    @abstractmethod
    def submit(self, attempt: Attempt) -> str:
        """Start the attempt and return the backend's id of it; if one with the same `attempt.id` was started, start nothing.

        Raises:
            BackendError: The backend refuses it.
            UnreachableError: It may have been started.
        """
        ...

    @abstractmethod
    def poll(self, attempt_id: str) -> PollResult:
        """Return the state of the attempt. Never raises: whatever is not known is *unknown*."""
        ...

    @abstractmethod
    def stop(self, attempt_id: str) -> None:
        """Ask the attempt to save and end (SIGTERM). Does nothing if it has ended."""
        ...

    @abstractmethod
    def kill(self, attempt_id: str) -> None:
        """End the attempt at once. Does nothing if it has ended."""
        ...

    @abstractmethod
    def request_stacks(self, attempt_id: str) -> None:
        """Have every training process write its stacks to the attempt's `stacks.txt`."""
        ...


class NamedBackend(Backend, Protocol):
    """A backend that a job file can name. Of a place that has no service to ask, the defaults are true."""

    @classmethod
    @abstractmethod
    def open(cls, plan: Plan | None, environment: Mapping[str, str]) -> Self:
        """The backend for the attempts of a plan; without a plan, one that follows and stops attempts which were already started.

        Raises:
            UsageError: It cannot run the plan.
        """
        ...

    @classmethod
    def obstacles(cls, plan: Plan | None, environment: Mapping[str, str]) -> Iterable[HoldfastError]:  # noqa: ARG003 - a default
        """Why the service would refuse a plan, as far as that can be known before anything is sent; without a plan, any job."""
        return ()

    @classmethod
    def mounted(cls, options: Mapping[str, object]) -> Collection[str]:  # noqa: ARG003 - a default
        """The folders that a job has by `where.options`."""
        return ()

    @classmethod
    def schedules(cls, environment: Mapping[str, str]) -> Schedules:  # noqa: ARG003 - a default
        """The schedules of an account, if the capabilities have any."""
        raise AssertionError(f"{cls.capabilities.name} has no schedules")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputNews:
    """What an attempt's output had that was not read before.

    Attributes:
        events: The reports of the training process, in order, and those that are lost for good.
        complete: Whether nothing can follow from an attempt that has ended.
        because: Why the output could not be read.
    """

    events: Sequence[Reported | ReportsLost] = ()
    complete: bool = True
    because: str = ""


class AttemptOutput(Protocol):
    """What the attempts of a run write, as it arrives on this machine."""

    def read(self, attempt: AttemptState, at_s: float, *, ended: bool) -> OutputNews:
        """Return the reports that the attempt's state does not have yet. What else it wrote goes to the run's folder."""
        ...

    def newest_checkpoint(
        self, attempt: AttemptState, saved: Collection[str], usable: Callable[[int], bool]
    ) -> tuple[str | None, Sequence[CheckpointIntegrity]]:
        """Return the newest checkpoint that the run can resume from, and the newer ones that are not whole.

        Args:
            attempt: The newest attempt.
            saved: Folders in which attempts said that they save checkpoints.
            usable: Whether the checkpoint of a step may be continued from.
        """
        ...

    def fetch(self, attempt: AttemptState) -> None:
        """Bring the files of an attempt that has ended to the run's folder. Raises UnreachableError."""
        ...


class Store(Protocol):
    """The ledger: every event of every run, in order."""

    def append(self, run: str, events: Iterable[Event]) -> None:
        """Write events durably, all or none. Raises LedgerError."""
        ...

    def read(self, run: str, *, after: int = 0) -> list[tuple[int, Event]]:
        """Return a run's events in order, each with its number, from the first after number `after`."""
        ...


Order = Literal["stop", "kill", "detach"]


class Orders(Protocol):
    """The orders of the person at the terminal to the supervisor."""

    def take(self) -> Order | None:
        """Return the order given since the last call; each order is returned once."""
        ...


class Clock(Protocol):
    """The time, and waiting."""

    def now_s(self) -> float:
        """Unix time."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...
