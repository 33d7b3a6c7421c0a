"""The state of a run, which follows from its events.

The ledger holds events and nothing else. `fold` makes the state from them, so a supervisor that was killed continues
where it was.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.core.run.attempt_state import AttemptState, advance_attempt
from holdfast.core.run.event import (
    AttemptEvent,
    ChangesAccepted,
    Closed,
    Delivered,
    Diagnosed,
    Event,
    ModelEvaluated,
    ModelExported,
    Polled,
    Refuser,
    Remedied,
    Reported,
    ReportsLost,
    RunRequested,
    RunScheduled,
    RunStage,
    Started,
    Starting,
    Stopper,
    StopRequested,
    TroubleNoted,
)
from holdfast.core.run.loss_spike import LossRange, begin_loss_range
from holdfast.core.run.remedy import AppliedRemedy, SettingChange
from holdfast.core.run.requested_job import RequestedJob
from holdfast.core.run.training_event import (
    ROWS_SETTING,
    PushStarted,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """The state of a run, made from its events alone.

    Attributes:
        started_s: Unix time of the request.
        seen_s: Unix time of the last event.
        stop: Who requested that the current attempt stops; None if there was no request.
        stop_s: Unix time of that request.
        stop_because: Why they did; empty if that follows from who it was.
        stop_kills: Whether they had the attempt killed at once.
        accepted: The settings that may differ from a checkpoint's, and the values that they may have.
        pushes: The last push to each repository of the Hub.
        deliveries: The verification of each push, by repository.
        evaluated: What the evaluation of the final model gave; None if there was none yet.
        exported: What the export of the final model gave; None if there was none yet.
        refused_by: What refused it before its start; empty if nothing did.
        codes: The reasons of the refusal.
        scheduled: The schedule by which its backend starts it; None if it has none.
    """

    folder: str = ""
    about: RequestedJob = field(default_factory=RequestedJob)
    stage: RunStage = RunStage.QUEUED
    because: str = ""
    started_s: float = 0.0
    seen_s: float = 0.0
    stop: Stopper | None = None
    stop_s: float = 0.0
    stop_because: str = ""
    stop_kills: bool = False
    attempts: tuple[AttemptState, ...] = ()
    accepted: Mapping[str, Any] = field(default_factory=dict[str, Any])
    pushes: Mapping[str, PushStarted] = field(default_factory=dict[str, PushStarted])
    deliveries: Mapping[str, Delivered] = field(default_factory=dict[str, Delivered])
    evaluated: ModelEvaluated | None = None
    exported: ModelExported | None = None
    refused_by: Refuser = ""
    codes: tuple[str, ...] = ()
    scheduled: RunScheduled | None = None

    @property
    def current(self) -> AttemptState | None:
        """The newest attempt."""
        return self.attempts[-1] if self.attempts else None

    @property
    def remedies(self) -> tuple[AppliedRemedy, ...]:
        """What was changed after the attempts so far, in order."""
        return tuple(attempt.remedy for attempt in self.attempts if attempt.remedy)

    @property
    def unverified(self) -> tuple[str, ...]:
        """Repositories that a run which succeeded has pushed to, and that were not verified yet."""
        return tuple(sorted(self.pushes.keys() - self.deliveries.keys())) if self.has_trained else ()

    @property
    def refused_changes(self) -> tuple[SettingChange, ...]:
        """The settings because of which the newest attempt did not continue from its checkpoint."""
        resumed = self.current.resumed if self.current else None
        return resumed.changes if resumed and resumed.verdict == "refused" else ()

    @property
    def allowed_changes(self) -> Mapping[str, Any]:
        """The settings that may differ from a checkpoint's, and the values that they may have; None stands for any.

        An attempt that follows another by itself may have other rows: a script may shuffle them without a seed.
        """
        return self.accepted if self.stage.ended else {ROWS_SETTING: None, **self.accepted}

    @property
    def saved_model(self) -> str | None:
        """The folder on this machine of the model that its newest attempt saved last; None if it reported none."""
        saved = self.current.saved if self.current else None
        if saved is None:
            return None
        return f"{self.folder}/{saved.inside}" if saved.inside else saved.path

    @property
    def lacks_export(self) -> bool:
        """Whether the export of its final model failed or was skipped, so that it can be made again."""
        return self.exported is not None and self.exported.verdict != "pass"

    @property
    def has_trained(self) -> bool:
        """Whether its newest attempt has succeeded."""
        return self.current is not None and self.current.stage is RunStage.SUCCEEDED


def trained_s(state: RunState) -> float:
    """Return the seconds that the attempts of a run took together, up to its last event.

    >>> trained_s(RunState(seen_s=900, attempts=(AttemptState(number=1, backend="local", started_s=10, ended_s=40),)))
    30
    """
    return sum((attempt.ended_s or state.seen_s) - attempt.started_s for attempt in state.attempts)


def fold(events: Iterable[Event], state: RunState | None = None) -> RunState:
    """Replay events into a state.

    >>> fold([RunRequested(at_s=0, folder="runs/a"), Closed(at_s=9, stage=RunStage.FAILED)]).stage
    <RunStage.FAILED: 'failed'>
    """
    state = state or RunState()
    for event in events:
        state = advance(state, event)
    return state


def advance(state: RunState, event: Event) -> RunState:
    """Return the state one event later."""
    match event:
        case Starting():
            state = _with_attempt(state, event)
        case RunRequested() | RunScheduled() | StopRequested() | ChangesAccepted() | Closed():
            state = _decided(state, event)
        case Delivered() | ModelEvaluated() | ModelExported():
            state = _after_training(state, event)
        case Started() | Reported() | ReportsLost() | Polled() | Diagnosed() | Remedied() | TroubleNoted():
            state = _advance_attempts(state, event)
    return replace(state, seen_s=event.at_s)


def _with_attempt(state: RunState, event: Starting) -> RunState:
    """Return the state with a new attempt, in place of one that was to start before and has the same number."""
    kept = tuple(old for old in state.attempts if old.number != event.attempt)
    attempt = AttemptState(
        number=event.attempt,
        backend=event.backend,
        started_s=event.at_s,
        running_s=event.at_s,
        resume_from=event.resume_from,
        passed_over=event.passed_over,
        timeout_s=event.timeout_s,
        loss_range=begin_loss_range(kept[-1].loss_range) if kept else LossRange(),
    )
    return replace(state, attempts=(*kept, attempt), stage=RunStage.QUEUED, because="", stop=None)


def _decided(
    state: RunState, event: RunRequested | RunScheduled | StopRequested | ChangesAccepted | Closed
) -> RunState:
    """Return the state with what a person or the supervisor has decided about the run."""
    match event:
        case RunRequested():  # a run may be taken up before its first attempt
            state = replace(state, folder=event.folder, about=event.about, started_s=event.at_s)
            return replace(state, stage=RunStage.QUEUED, because="", stop=None)
        case RunScheduled():
            return replace(state, stage=RunStage.SCHEDULED, scheduled=event)
        case StopRequested():
            state = replace(state, stop=event.by, stop_s=event.at_s, stop_because=event.because)
            return replace(state, stop_kills=event.kills)
        case ChangesAccepted():
            return replace(state, accepted={**state.accepted, **event.settings})
        case Closed():
            state = replace(state, stage=event.stage, because=event.because, scheduled=None)
            return replace(state, refused_by=event.refused_by, codes=event.codes)


def _after_training(state: RunState, event: Delivered | ModelEvaluated | ModelExported) -> RunState:
    """Return the state with what became of the final model."""
    match event:
        case Delivered():
            return replace(state, deliveries={**state.deliveries, event.repository: event})
        case ModelEvaluated():
            return replace(state, evaluated=event)
        case ModelExported():
            return replace(state, exported=event)


def _advance_attempts(state: RunState, event: AttemptEvent) -> RunState:
    """Return the state with one attempt advanced; the run is running if its newest attempt is."""
    reported = event.training_event if isinstance(event, Reported) else None
    attempts = tuple(
        advance_attempt(old, event, reported) if old.number == event.attempt else old for old in state.attempts
    )
    state = replace(state, attempts=attempts)
    if attempts and attempts[-1].stage is RunStage.RUNNING and not state.stage.ended:
        state = replace(state, stage=RunStage.QUEUED if attempts[-1].waiting else RunStage.RUNNING)
    return _after_push(state, reported) if isinstance(reported, PushStarted) else state


def _after_push(state: RunState, push: PushStarted) -> RunState:
    """Return the state after a push began: an earlier verification of the repository is out of date."""
    if not push.repository:
        return state
    deliveries = {name: found for name, found in state.deliveries.items() if name != push.repository}
    return replace(state, pushes={**state.pushes, push.repository: push}, deliveries=deliveries)


def changes(state: RunState, event: Event) -> bool:
    """True if an event changes the state; one that does not need not be stored."""
    return replace(advance(state, event), seen_s=state.seen_s) != state
