"""The state of one attempt of a run, which follows from its events."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from signal import SIGINT, SIGKILL, SIGTERM
from statistics import median
from typing import Final

from holdfast.core.plan.estimate import Interval
from holdfast.core.run.course import Course, follow_course
from holdfast.core.run.event import (
    AttemptEvent,
    Diagnosed,
    Liveness,
    Polled,
    Remedied,
    Reported,
    ReportsLost,
    RunStage,
    Started,
    TroubleNoted,
)
from holdfast.core.run.loss_spike import LossRange, follow_loss_range
from holdfast.core.run.lost_loss import LostLoss, follow_loss
from holdfast.core.run.pace import Pace, follow_pace
from holdfast.core.run.remedy import AppliedRemedy
from holdfast.core.run.rhythm import Rhythm, follow_silence
from holdfast.core.run.training_event import (
    BestLoaded,
    CheckpointSaved,
    Evaluated,
    ModelSaved,
    Resumed,
    StepDone,
    TrainingEnded,
    TrainingEvent,
    TrainingStarted,
)
from holdfast.core.run.trouble import Trouble
from holdfast.core.run.usage import MachineUsage

ENDED_FROM_OUTSIDE: Final = frozenset(code for signal in (SIGINT, SIGTERM, SIGKILL) for code in (-signal, 128 + signal))
"""Exit codes of a process that was stopped or killed, as its parent has them and as a shell has them."""


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
        timeout_s: Seconds that were left of the run's timeout when it started; None if it has all of it.
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
        checkpoint_step: The step of the newest checkpoint, or of the one that it continues from; 0 if there is none.
        saved: The model that was saved last since its training began; None if none was.
        finite_step: The last logged step with finite gradients.
        lost: Since when they are not; None if they are.
        loss_range: The losses that it has logged, as far as a spike is judged by them.
        metrics: The newest value of each metric.
        metric_steps: The step after which each of them was measured.
        course: How its numbers have gone.
        pace: How long its steps have taken.
        rhythm: How long it is silent while it does a step, an evaluation, a save.
        activity: What it does, by its last heartbeat; empty if something happened since.
        idle_s: Seconds since its last sign of life, by its own clock, at its last heartbeat; 0 if something happened since.
        troubles: The signs of trouble that were noted.
        usage: The most memory that its machine had in use, as its backend measured it; None if it did not.
    """

    number: int
    backend: str
    started_s: float
    id: str = ""
    stage: RunStage = RunStage.QUEUED
    answer: Liveness = Liveness.UNKNOWN
    resume_from: str | None = None
    passed_over: tuple[str, ...] = ()
    timeout_s: float | None = None
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
    checkpoint_step: int = 0
    saved: ModelSaved | None = None
    finite_step: int = 0
    lost: LostLoss | None = None
    loss_range: LossRange = field(default_factory=LossRange)
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    metric_steps: Mapping[str, int] = field(default_factory=dict[str, int])
    course: Course = field(default_factory=Course)
    pace: Pace = field(default_factory=Pace)
    rhythm: Rhythm = field(default_factory=Rhythm)
    activity: str = ""
    idle_s: float = 0.0
    troubles: tuple[Trouble, ...] = ()
    usage: MachineUsage | None = None


def remaining(attempt: AttemptState, now_s: float) -> Interval | None:
    """Return the seconds until the last step of an attempt that trains; None while that is not known."""
    if attempt.stage is not RunStage.RUNNING or not attempt.max_steps:
        return None
    newest_s = median(attempt.course.seconds) if attempt.course.seconds else None
    return attempt.pace.remaining(attempt.max_steps, now_s, newest_s)


def advance_attempt(attempt: AttemptState, event: AttemptEvent, reported: TrainingEvent | None) -> AttemptState:
    """Return an attempt one event later.

    Args:
        attempt: The attempt.
        event: The event.
        reported: What the training process reported, if the event says so.
    """
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
            return _ended(attempt, event)
        case Liveness.ALIVE:
            running_s = event.at_s if attempt.waiting and not event.waiting else attempt.running_s
            drains = event.drains or attempt.drains  # what has ended does not come back
            usage = event.usage.peak(attempt.usage) if event.usage else attempt.usage
            phase, waiting = event.phase, event.waiting
            return replace(attempt, phase=phase, waiting=waiting, running_s=running_s, drains=drains, usage=usage)
        case Liveness.UNKNOWN:
            return attempt


def _ended(attempt: AttemptState, event: Polled) -> AttemptState:
    ended_s = attempt.ended_s or max(event.over_s, attempt.started_s)
    stage = _how_it_ended(attempt, event.exit_code)
    attempt = replace(attempt, stage=stage, exit_code=event.exit_code, ended_s=ended_s)
    return replace(attempt, phase="", waiting=False, drains=False)


def _with_heard(attempt: AttemptState, process: str, number: int) -> AttemptState:
    return replace(attempt, heard={**attempt.heard, process: number}) if process else attempt


AS_RESULT: Final = {"loss": "train_loss", "reward": "reward"}
"""The figures of steps that a run's result has, by the names that it has them under."""


def _advance_report(attempt: AttemptState, event: TrainingEvent) -> AttemptState:
    rhythm, activity, idle_s = follow_silence(attempt.rhythm, event)
    figures = _figures(event)
    return replace(
        _with_reported(attempt, event),
        course=follow_course(attempt.course, event),
        pace=follow_pace(attempt.pace, event),
        rhythm=rhythm,
        activity=activity,
        idle_s=idle_s,
        reports=attempt.reports + 1,
        steps=event.step or attempt.steps,
        max_steps=event.max_steps or attempt.max_steps,
        end=event if isinstance(event, TrainingEnded) else None,
        metrics={**attempt.metrics, **figures},
        metric_steps={**attempt.metric_steps, **dict.fromkeys(figures, event.step or 0)},
    )


def _figures(event: TrainingEvent) -> dict[str, float]:
    """Return the figures that an event reports, as a run's result has them."""
    if isinstance(event, StepDone):
        return {AS_RESULT[name]: value for name, value in event.figures() if name in AS_RESULT}
    return dict(event.figures()) if isinstance(event, Evaluated) else {}


def _with_reported(attempt: AttemptState, event: TrainingEvent) -> AttemptState:
    """Return an attempt with what an event alone says."""
    match event:
        case TrainingStarted():
            return _begun(attempt, event)
        case StepDone():
            finite_step, lost = follow_loss(attempt.finite_step, attempt.lost, event)
            loss_range = follow_loss_range(attempt.loss_range, event)
            return replace(attempt, finite_step=finite_step, lost=lost, loss_range=loss_range)
        case CheckpointSaved() | ModelSaved() | Resumed() | BestLoaded():
            return _with_weights(attempt, event)
        case _:
            return attempt


def _begun(attempt: AttemptState, event: TrainingStarted) -> AttemptState:
    """Return an attempt whose training begins. The losses of another training of its script say nothing of this one's."""
    step, loss_range = event.step or 0, LossRange() if attempt.started else attempt.loss_range
    begun = replace(attempt, started=event, finite_step=step, checkpoint_step=step)
    return replace(begun, lost=None, saved=None, loss_range=loss_range)


def _with_weights(attempt: AttemptState, event: CheckpointSaved | ModelSaved | Resumed | BestLoaded) -> AttemptState:
    """Return an attempt that has saved weights, or loaded them."""
    match event:
        case CheckpointSaved():
            checkpoint_bytes = event.bytes or attempt.checkpoint_bytes
            return replace(attempt, checkpoint_bytes=checkpoint_bytes, checkpoint_step=event.step or 0)
        case ModelSaved():
            return replace(attempt, saved=event)
        case Resumed():
            return replace(attempt, resumed=event)
        case BestLoaded():
            return replace(attempt, best=event)


def _how_it_ended(attempt: AttemptState, exit_code: int | None) -> RunStage:
    """Return the stage of an ended attempt. Exit code 0 alone is no success: the trainer must have reached its last step.

    An attempt that was ended from outside after it had finished has succeeded.
    """
    status = attempt.end.status if attempt.end else None
    if status == "finished" and exit_code in (0, None, *ENDED_FROM_OUTSIDE):
        return RunStage.SUCCEEDED
    return RunStage.CANCELLED if status == "stopped" else RunStage.FAILED
