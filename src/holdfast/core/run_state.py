"""The state of a run, which follows from its events.

The ledger holds events and nothing else. `fold` makes the state from them, so a supervisor that was killed continues
where it was.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from signal import SIGINT, SIGKILL, SIGTERM
from typing import Any, Final

from holdfast.core.course import Course, follow_course
from holdfast.core.event import (
    AttemptEvent,
    ChangesAccepted,
    Closed,
    Delivered,
    Diagnosed,
    Event,
    Liveness,
    ModelEvaluated,
    ModelExported,
    Polled,
    Refuser,
    Remedied,
    Reported,
    ReportsLost,
    RunRequested,
    RunStage,
    Started,
    Starting,
    Stopper,
    StopRequested,
    TroubleNoted,
)
from holdfast.core.lost_loss import LostLoss, follow_loss
from holdfast.core.pace import Pace, follow_pace
from holdfast.core.remedy import AppliedRemedy, SettingChange
from holdfast.core.requested_job import RequestedJob
from holdfast.core.rhythm import Rhythm, follow_silence
from holdfast.core.training_event import (
    ROWS_SETTING,
    BestLoaded,
    CheckpointSaved,
    Evaluated,
    ModelSaved,
    PushStarted,
    Resumed,
    StepDone,
    TrainingEnded,
    TrainingEvent,
    TrainingStarted,
)
from holdfast.core.trouble import Trouble

ENDED_FROM_OUTSIDE: Final = (128 + SIGTERM, -SIGTERM, -SIGINT, -SIGKILL)
"""Exit codes of a process that was stopped or killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptState:
    """The state of one attempt.

    Attributes:
        id: The backend's id of it; empty until the backend accepts it.
        stage: Its stage.
        answer: The backend's last answer.
        phase: What the backend does with it, in words; empty if it runs.
        waiting: Whether it has not started yet, so that its timeout does not count.
        drains: Whether it has ended, and some of its output has not arrived. Nothing can stop or kill it any more.
        running_s: Unix time since which it runs, as far as is known.
        ended_s: Unix time at which it ended, as far as is known; 0 before.
        reports: Number of the training process' events that were read.
        heard: The number of the last event that was read or lost, by the process that reported it in the log.
        steps: Optimizer steps done, counted over all attempts, as the trainer counts.
        max_steps: Optimizer steps that the trainer plans; None before it reports them.
        end: The last event of the training process, if that ended it.
        started: What its training began with; None before it reported that.
        resumed: How its settings compare with those of the checkpoint that it continues from; None if it did not report that.
        diagnosed: The cause of its failure; None if it was not sought.
        remedy: What is changed after it; None if nothing is.
        checkpoint_bytes: The size of the newest checkpoint; None before the first.
        saved: The model that was saved last since its training began; None if none was.
        finite_step: The last logged step with finite gradients.
        lost: Since when they are not; None if they are.
        metrics: The newest value of each metric.
        course: How its numbers have gone.
        pace: How long its steps have taken.
        rhythm: How long it is silent while it does a step, an evaluation, a save.
        activity: What it does, by its last heartbeat; empty if something happened since.
        idle_s: Seconds since its last sign of life, by its own clock, at its last heartbeat; 0 if something happened since.
        troubles: The signs of trouble that were noted.
    """

    number: int
    backend: str
    started_s: float
    id: str = ""
    stage: RunStage = RunStage.QUEUED
    answer: Liveness = Liveness.UNKNOWN
    resume_from: str | None = None
    passed_over: tuple[str, ...] = ()
    exit_code: int | None = None
    because: str = ""
    phase: str = ""
    waiting: bool = False
    drains: bool = False
    running_s: float = 0.0
    ended_s: float = 0.0
    reports: int = 0
    heard: Mapping[str, int] = field(default_factory=dict[str, int])
    steps: int = 0
    max_steps: int | None = None
    end: TrainingEnded | None = None
    started: TrainingStarted | None = None
    resumed: Resumed | None = None
    best: BestLoaded | None = None
    diagnosed: Diagnosed | None = None
    remedy: AppliedRemedy | None = None
    checkpoint_bytes: int | None = None
    saved: ModelSaved | None = None
    finite_step: int = 0
    lost: LostLoss | None = None
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    course: Course = field(default_factory=Course)
    pace: Pace = field(default_factory=Pace)
    rhythm: Rhythm = field(default_factory=Rhythm)
    activity: str = ""
    idle_s: float = 0.0
    troubles: tuple[Trouble, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """The state of a run, made from its events alone.

    Attributes:
        started_s: Unix time of the request.
        seen_s: Unix time of the last event.
        stop: Who requested that the current attempt stops; None if nobody did.
        stop_s: Unix time of that request.
        stop_because: Why they did; empty if that follows from who it was.
        accepted: The settings that may differ from a checkpoint's, and the values that they may have.
        pushes: The last push to each repository of the Hub.
        deliveries: The verification of each push, by repository.
        evaluated: What the evaluation of the final model gave; None if there was none yet.
        exported: What the export of the final model gave; None if there was none yet.
        refused_by: What refused it before its start; empty if nothing did.
        codes: The reasons of the refusal.
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
    attempts: tuple[AttemptState, ...] = ()
    accepted: Mapping[str, Any] = field(default_factory=dict[str, Any])
    pushes: Mapping[str, PushStarted] = field(default_factory=dict[str, PushStarted])
    deliveries: Mapping[str, Delivered] = field(default_factory=dict[str, Delivered])
    evaluated: ModelEvaluated | None = None
    exported: ModelExported | None = None
    refused_by: Refuser = ""
    codes: tuple[str, ...] = ()

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
        case RunRequested():
            state = replace(state, folder=event.folder, about=event.about, started_s=event.at_s)
            state = replace(
                state, stage=RunStage.QUEUED, because="", stop=None
            )  # a run may be taken up before its first attempt
        case Starting():
            attempt = AttemptState(
                number=event.attempt,
                backend=event.backend,
                started_s=event.at_s,
                running_s=event.at_s,
                resume_from=event.resume_from,
                passed_over=event.passed_over,
            )
            kept = tuple(old for old in state.attempts if old.number != event.attempt)
            state = replace(state, attempts=(*kept, attempt), stage=RunStage.QUEUED, because="", stop=None)
        case StopRequested():
            state = replace(state, stop=event.by, stop_s=event.at_s, stop_because=event.because)
        case ChangesAccepted():
            state = replace(state, accepted={**state.accepted, **event.settings})
        case Delivered() | ModelEvaluated() | ModelExported():
            state = _after_training(state, event)
        case Closed():
            state = replace(state, stage=event.stage, because=event.because)
            state = replace(state, refused_by=event.refused_by, codes=event.codes)
        case Started() | Reported() | ReportsLost() | Polled() | Diagnosed() | Remedied() | TroubleNoted():
            state = _advance_attempts(state, event)
    return replace(state, seen_s=event.at_s)


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
        _advance_attempt(old, event, reported) if old.number == event.attempt else old for old in state.attempts
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


def _advance_attempt(
    attempt: AttemptState,
    event: AttemptEvent,
    reported: TrainingEvent | None,
) -> AttemptState:
    match event:
        case Started():
            return replace(attempt, id=event.id, stage=RunStage.RUNNING)
        case Polled():
            return _advance_poll(attempt, event)
        case Reported():
            return _advance_report(_with_heard(attempt, event.process, event.number), reported or TrainingEvent())
        case ReportsLost():
            return _with_heard(attempt, event.process, event.last)
        case Diagnosed() | Remedied() | TroubleNoted():
            return _with_judgement(attempt, event)


def _with_judgement(attempt: AttemptState, event: Diagnosed | Remedied | TroubleNoted) -> AttemptState:
    """Return an attempt with what was found out about it."""
    match event:
        case Diagnosed():
            return replace(attempt, diagnosed=event)
        case Remedied():
            return replace(attempt, remedy=event.remedy)
        case TroubleNoted():
            return replace(attempt, troubles=(*attempt.troubles, event.trouble))


def _advance_poll(attempt: AttemptState, event: Polled) -> AttemptState:
    """Return an attempt after a poll. An unknown answer leaves what is known of its phase as it is."""
    attempt = replace(attempt, answer=event.answer, because=event.because)
    match event.answer:
        case Liveness.ENDED:
            stage = _how_it_ended(attempt, event.exit_code)
            ended = replace(
                attempt,
                stage=stage,
                exit_code=event.exit_code,
                ended_s=attempt.ended_s or max(event.over_s, attempt.started_s),
            )
            return replace(ended, phase="", waiting=False, drains=False)
        case Liveness.ALIVE:
            running_s = event.at_s if attempt.waiting and not event.waiting else attempt.running_s
            drains = event.drains or attempt.drains  # what has ended does not come back
            return replace(attempt, phase=event.phase, waiting=event.waiting, running_s=running_s, drains=drains)
        case Liveness.UNKNOWN:
            return attempt


def _with_heard(attempt: AttemptState, process: str, number: int) -> AttemptState:
    return replace(attempt, heard={**attempt.heard, process: number}) if process else attempt


AS_RESULT: Final = {"loss": "train_loss", "reward": "reward"}
"""The figures of steps that a run's result has, by the names that it has them under."""


def _advance_report(attempt: AttemptState, event: TrainingEvent) -> AttemptState:
    metrics = dict(attempt.metrics)
    if isinstance(event, TrainingStarted):
        attempt = replace(attempt, started=event, finite_step=event.step or 0, lost=None, saved=None)
    if isinstance(event, StepDone):
        finite_step, lost = follow_loss(attempt.finite_step, attempt.lost, event)
        attempt = replace(attempt, finite_step=finite_step, lost=lost)
        metrics |= {AS_RESULT[name]: value for name, value in event.figures() if name in AS_RESULT}
    if isinstance(event, Evaluated):
        metrics |= dict(event.figures())
    if isinstance(event, CheckpointSaved):
        attempt = replace(attempt, checkpoint_bytes=event.bytes or attempt.checkpoint_bytes)
    if isinstance(event, ModelSaved):
        attempt = replace(attempt, saved=event)
    if isinstance(event, Resumed):
        attempt = replace(attempt, resumed=event)
    if isinstance(event, BestLoaded):
        attempt = replace(attempt, best=event)
    rhythm, activity, idle_s = follow_silence(attempt.rhythm, event)
    return replace(
        attempt,
        course=follow_course(attempt.course, event),
        pace=follow_pace(attempt.pace, event),
        rhythm=rhythm,
        activity=activity,
        idle_s=idle_s,
        reports=attempt.reports + 1,
        steps=event.step or attempt.steps,
        max_steps=event.max_steps or attempt.max_steps,
        end=event if isinstance(event, TrainingEnded) else None,
        metrics=metrics,
    )


def _how_it_ended(attempt: AttemptState, exit_code: int | None) -> RunStage:
    """Return the stage of an ended attempt. Exit code 0 alone is no success: the trainer must have reached its last step.

    An attempt that was ended from outside after it had finished has succeeded.
    """
    status = attempt.end.status if attempt.end else None
    if status == "finished" and exit_code in (0, None, *ENDED_FROM_OUTSIDE):
        return RunStage.SUCCEEDED
    return RunStage.CANCELLED if status == "stopped" else RunStage.FAILED
