"""The events of a run, as the ledger holds them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, TypeVar

from holdfast.core.diagnose.diagnosis import GUESS_BELOW, Remedy
from holdfast.core.run.remedy import AppliedRemedy
from holdfast.core.run.requested_job import RequestedJob
from holdfast.core.run.schedule import JobSchedule
from holdfast.core.run.training_event import TrainingEvent, parse_training_event
from holdfast.core.run.trouble import Trouble
from holdfast.core.run.unix_time import UnixTime
from holdfast.core.run.usage import MachineUsage

Kind = TypeVar("Kind", bound=TrainingEvent)


class RunStage(StrEnum):
    """The stage of a run or an attempt. Every backend maps its own words onto these."""

    QUEUED = "queued"
    RUNNING = "running"
    SCHEDULED = "scheduled"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether this stage is final."""
        return self in (RunStage.SUCCEEDED, RunStage.FAILED, RunStage.CANCELLED)


class Stopper(StrEnum):
    """Who requested that a run stops, in the words of the verdict."""

    PERSON = "a person"
    TIMEOUT = "the timeout"
    NAN = "the watch on the loss"
    SPIKE = "the watch on loss spikes"
    STALL = "the watch on progress"
    BUDGET = "the budget"
    PROMISE = "the check of a remedy"
    STUDY = "its study"

    @property
    def is_final(self) -> bool:
        """True if no attempt follows by itself, as after the request of a person or a limit."""
        return self not in (Stopper.NAN, Stopper.SPIKE, Stopper.STALL)


Refuser = Literal["check", "rehearsal", ""]


class Liveness(StrEnum):
    """The state of an attempt according to its backend. Unknown never ends anything."""

    ALIVE = "alive"
    ENDED = "ended"
    UNKNOWN = "unknown"


class EndReason(StrEnum):
    """Kinds of reasons why a training process ended: `reason` of its last event."""

    FINISHED = "finished"
    EXCEPTION = "exception"
    EXIT = "exit"
    LEFT_TRAINING = "left-training"
    DATA_EXHAUSTED = "data-exhausted"
    SIGNAL = "signal"
    LAUNCHER_DIED = "launcher-died"
    SETTINGS_CHANGED = "settings-changed"
    TIMEOUT = "timeout"
    DISK_FULL = "disk-full"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequested:
    """A run was requested.

    Attributes:
        at_s: Unix time, as in every event.
        folder: The run's folder, absolute.
        about: The requested job.
    """

    at_s: UnixTime
    folder: str
    about: RequestedJob = field(default_factory=RequestedJob)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScheduled:
    """A backend is about to start the job at certain times by itself. It is written before, so that no schedule is forgotten."""

    at_s: UnixTime
    backend: str
    schedule: JobSchedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Starting:
    """An attempt is about to be submitted. It is written before, so that no attempt is submitted twice.

    Attributes:
        resume_from: The checkpoint that it continues from; None if it begins anew.
        passed_over: Newer checkpoints that it cannot continue from, each with the reason.
        timeout_s: Seconds that are left of the run's timeout, if attempts before it have used a part; None if none has.
    """

    at_s: UnixTime
    attempt: int
    backend: str
    resume_from: str | None = None
    passed_over: tuple[str, ...] = ()
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The backend accepted the attempt.

    Attributes:
        id: The backend's id of it.
    """

    at_s: UnixTime
    attempt: int
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """The training process reported an event.

    Attributes:
        said: The event as it was written (`docs/contract.md`); the ledger keeps fields that this version does not know.
        process: The process that reported it, if the event came in the log.
        number: The event's number in that process, from 1; 0 if it came in a file.
    """

    at_s: UnixTime
    attempt: int
    said: Mapping[str, Any]
    process: str = ""
    number: int = 0

    @property
    def training_event(self) -> TrainingEvent:
        """The event, typed."""
        return parse_training_event(self.said)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportsLost:
    """Some of the training process' events did not arrive, however often they were requested.

    Attributes:
        process: The process that reported them; empty if that is not known.
        first: The number of the first of them.
        last: The number of the last; below `first` if it is not known how many there are.
        because: Why they are lost.
    """

    at_s: UnixTime
    attempt: int
    process: str
    first: int
    last: int
    because: str = ""

    @property
    def count(self) -> int:
        """How many are lost; 0 if that is not known."""
        return max(self.last - self.first + 1, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Polled:
    """The backend was polled.

    Attributes:
        exit_code: The exit code of an ended attempt; negative for a signal, None if it is unknown.
        because: Why the answer is unknown, or why the attempt never started.
        phase: What the backend does with a living attempt, in words; empty if it runs.
        waiting: Whether the attempt has not started yet.
        drains: Whether the attempt has ended, and some of its output has not arrived.
        ended_s: Unix time at which the attempt ended, by its last sign of life; None if the backend does not know it.
        usage: The memory that its machine has in use; None if it was not measured.
    """

    at_s: UnixTime
    attempt: int
    answer: Liveness
    exit_code: int | None = None
    because: str = ""
    phase: str = ""
    waiting: bool = False
    drains: bool = False
    ended_s: UnixTime | None = None
    usage: MachineUsage | None = None

    @property
    def over_s(self) -> float:
        """Unix time at which an ended attempt was over: long before the poll, if the run had no supervisor.

        >>> Polled(at_s=9000, attempt=1, answer=Liveness.ENDED, ended_s=60).over_s
        60
        """
        return self.at_s if self.ended_s is None else min(self.ended_s, self.at_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequested:
    """A stop was requested: the attempt is to save and end.

    Attributes:
        by: Who requested it.
        because: Why; empty if that follows from who it was.
        kills: Whether the attempt is killed at once instead: a person requested it before.
    """

    at_s: UnixTime
    by: Stopper
    because: str = ""
    kills: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesAccepted:
    """A person accepted that settings differ from those that a checkpoint was saved with.

    Attributes:
        settings: The values that are accepted, by setting; None stands for any.
    """

    at_s: UnixTime
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """A push was verified: the repository on the Hub was compared with what was pushed.

    Attributes:
        repository: The repository.
        verdict: Whether everything is there; unknown if the Hub did not answer.
        because: What is missing, or why the Hub did not answer.
    """

    at_s: UnixTime
    repository: str
    verdict: Literal["arrived", "missing", "unknown"]
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEvaluated:
    """The final model was evaluated as the job asks, or could not be.

    Attributes:
        verdict: `fail` if a condition does not hold or a dataset failed; `skipped` if nothing was evaluated.
        because: What failed, or why it was skipped; empty if all went well.
        files: The results, as JSON.
    """

    at_s: UnixTime
    verdict: Literal["pass", "fail", "skipped"]
    because: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelExported:
    """The final model was exported as the job asks, or could not be.

    Attributes:
        verdict: `fail` if a file is missing that the job asks for; `skipped` if a person stopped the export.
        because: What failed, or why it was skipped; empty if all went well.
        folder: The folder of the export; empty if there is none.
        files: The GGUF files in it.
    """

    at_s: UnixTime
    verdict: Literal["pass", "fail", "skipped"]
    because: str = ""
    folder: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The supervisor's verdict on the run.

    Attributes:
        refused_by: What refused the run before its start; empty if it was started.
        codes: The reasons of the refusal: rules of `check`, or a class of failure.
    """

    at_s: UnixTime
    stage: RunStage
    because: str = ""
    refused_by: Refuser = ""
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosed:
    """The cause of an attempt's failure was looked for.

    Attributes:
        name: The class of failure; empty if none was found.
        title: What is wrong, in one line.
        fix: How to fix it.
        retry: Whether another attempt can help.
        confidence: Between 0 and 1.
        next_s: Seconds after which another attempt follows by itself; None if none does.
        suggested: The changes that the class names, with the log's values.
        stops: Why no attempt follows, if that is not plain.
        where: Where its processes were when it stalled, or which of several failed first, in words; empty if neither is known.
        rank: The process that the failure began in, of several; None if that is not known.
    """

    at_s: UnixTime
    attempt: int
    name: str = ""
    title: str = ""
    fix: str = ""
    retry: Literal["yes", "after-change", "no"] = "no"
    confidence: float = 0.0
    next_s: float | None = None
    suggested: tuple[Remedy, ...] = ()
    stops: str = ""
    where: str = ""
    rank: int | None = None

    @property
    def cause(self) -> str:
        """The cause in words; a guess is called one.

        >>> [Diagnosed(at_s=0, attempt=1, title="it hung", confidence=sure).cause for sure in (0.5, 0.9)]
        ['it hung (a guess)', 'it hung']
        """
        if not self.title:
            return "cause unknown"
        return f"{self.title} (a guess)" if self.confidence < GUESS_BELOW else self.title


@dataclass(frozen=True, slots=True, kw_only=True)
class TroubleNoted:
    """A sign of trouble was noted in an attempt that goes on.

    Attributes:
        trouble: The sign.
    """

    at_s: UnixTime
    attempt: int
    trouble: Trouble


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedied:
    """The job is changed for the attempts that follow a failed one.

    Attributes:
        attempt: The attempt that failed.
        cause: The class of its failure.
        remedy: What is changed.
    """

    at_s: UnixTime
    attempt: int
    cause: str
    remedy: AppliedRemedy


AttemptEvent = Started | Reported | ReportsLost | Polled | Diagnosed | Remedied | TroubleNoted
"""An event that advances the state of one attempt."""
Event = (
    RunRequested
    | RunScheduled
    | Starting
    | AttemptEvent
    | StopRequested
    | ChangesAccepted
    | Delivered
    | ModelEvaluated
    | ModelExported
    | Closed
)


def training_events(events: Iterable[Event], kind: type[Kind]) -> Iterator[Kind]:
    """Yield the events of one kind that the training process reported."""
    for event in events:
        if isinstance(event, Reported) and isinstance(reported := event.training_event, kind):
            yield reported


def last_sign_s(events: Iterable[Event], attempt: int) -> float | None:
    """Return the Unix time of the last event of an attempt's training, by that process' clock; None if there is none.

    >>> reported = Reported(at_s=900, attempt=1, said={"event": "step", "at": 60.0})
    >>> last_sign_s([reported], 1), last_sign_s([reported], 2)
    (60.0, None)
    """
    mine = [event for event in events if isinstance(event, Reported) and event.attempt == attempt]
    times = [each.at for each in training_events(mine, TrainingEvent) if each.at is not None]
    return max(times, default=None)
