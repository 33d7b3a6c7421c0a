"""How far a run is, how fast it is and how long it will take, from its events alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from holdfast.core.run.attempt_state import AttemptState, remaining
from holdfast.core.run.event import Event, Liveness, Polled, Reported, Starting
from holdfast.core.run.run_state import RunState, advance
from holdfast.core.run.training_event import (
    CheckpointSaved,
    Evaluated,
    Heartbeat,
    Measurement,
    StepDone,
    TrainingEvent,
    TrainingStarted,
)

RECENT = 100  # steps the rhythm is taken from: enough to span an evaluation now and then, few enough to follow a change
DOING = {"import": "loading libraries", "load": "loading model and data", "evaluate": "evaluating", "save": "saving"}
COLUMNS = 24  # parts of the run for which a loss is kept, so that its trail can be drawn beside the bar


@dataclass(frozen=True, slots=True)
class ProgressPoint:
    """A moment of training.

    Attributes:
        at_s: Unix time by the training process' own clock.
        step: Optimizer steps done.
        tokens: Tokens seen, or None if the trainer does not count them.
    """

    at_s: float
    step: int
    tokens: float | None = None


@dataclass(frozen=True, slots=True)
class MetricValue:
    """The value that a metric had after a step."""

    step: int
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a run, while it is running and afterwards.

    Attributes:
        state: The state of the run.
        spent_s: Seconds that the ended attempts took.
        recent: The newest points of the current attempt.
        first: The first value of each metric; of `eval_loss` the one before training, where that was measured.
        last: The newest value of each metric.
        trail: The newest loss in each part of the run, by the part's number, below `COLUMNS`.
        checkpoint: Path of the newest checkpoint, as the training process named it.
        doing: What the training process last reported to be doing, if that was not a step.
        epoch: Passes over the data, or None before the first step.
        memory_bytes: Most memory the training process took, on its GPU or, without one, in all.
    """

    state: RunState = field(default_factory=RunState)
    spent_s: float = 0.0
    recent: tuple[ProgressPoint, ...] = ()
    first: Mapping[str, MetricValue] = field(default_factory=dict[str, MetricValue])
    last: Mapping[str, MetricValue] = field(default_factory=dict[str, MetricValue])
    trail: Mapping[int, float] = field(default_factory=dict[int, float])
    checkpoint: str | None = None
    doing: str = ""
    epoch: float | None = None
    memory_bytes: int | None = None

    @property
    def attempt(self) -> AttemptState | None:
        """The attempt under way, or the last one."""
        return self.state.current

    @property
    def step(self) -> int:
        """Optimizer steps done."""
        return self.attempt.steps if self.attempt else 0

    @property
    def max_steps(self) -> int | None:
        """Steps that the trainer plans; None before it reports them."""
        return self.attempt.max_steps if self.attempt else None

    @property
    def phase(self) -> str:
        """What the run is doing, in a word."""
        if self.state.stage.ended:
            return "refused" if self.state.refused_by else self.state.stage.value
        if self.state.stop and not (self.attempt and self.attempt.stage.ended):
            return "stopping"
        return _phase_of(self.attempt, self.doing)

    @property
    def steps_per_s(self) -> float | None:
        """Speed over the recent points, evaluations and saves included; None before there are two."""
        return _speed([(mark.at_s, mark.step) for mark in self.recent])

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens a second over the recent points; None if they are not counted."""
        return _speed([(mark.at_s, mark.tokens) for mark in self.recent if mark.tokens is not None])

    def elapsed_s(self, now_s: float) -> float:
        """Seconds that all attempts took; time in which none ran does not count."""
        if self.attempt is None or self.attempt.stage.ended:
            return self.spent_s
        return self.spent_s + max(now_s - self.attempt.started_s, 0.0)

    def left_s(self, now_s: float) -> float | None:
        """Seconds until the last step; None while that is not known."""
        left = remaining(self.attempt, now_s) if self.attempt and not self.state.stage.ended else None
        return left.value if left else None


def follow(events: Iterable[Event], progress: Progress | None = None) -> Progress:
    """Return the progress after some events, from the beginning or from an earlier progress."""
    progress = progress or Progress()
    for event in events:
        progress = advance_progress(progress, event)
    return progress


def advance_progress(progress: Progress, event: Event) -> Progress:
    """Return the progress one event later."""
    before, progress = progress, replace(progress, state=advance(progress.state, event))
    match event:
        case Starting():
            return replace(progress, recent=(), doing="")
        case Polled(answer=Liveness.ENDED) if before.attempt and not before.attempt.stage.ended:
            return replace(progress, spent_s=before.elapsed_s(event.over_s))
        case Reported():
            return _advance_report(progress, event.training_event, event.at_s)
        case _:
            return progress


def _phase_of(attempt: AttemptState | None, doing: str) -> str:
    """Return the phase of an attempt, in a word."""
    if attempt is None or not attempt.id:
        return "queued"
    return attempt.phase or DOING.get(doing) or _phase_of_steps(attempt)


def _phase_of_steps(attempt: AttemptState) -> str:
    if attempt.max_steps is None:
        return "starting"
    return "training" if attempt.steps < attempt.max_steps else "finishing"


def _speed(counted: Sequence[tuple[float, float]]) -> float | None:
    """Return the units per second between the first and the last count; each count is (seconds, units)."""
    if not counted or counted[-1][0] <= counted[0][0]:
        return None
    (start_s, before), (end_s, after) = counted[0], counted[-1]
    return (after - before) / (end_s - start_s)


def _advance_report(progress: Progress, event: TrainingEvent, heard_s: float) -> Progress:
    match event:
        case TrainingStarted():
            return _advance_point(progress, event, heard_s)
        case StepDone():
            return _advance_step(_advance_metrics(progress, event), event, heard_s)
        case Evaluated():
            return _advance_metrics(progress, event)
        case CheckpointSaved(path=str(path)) if path:
            return replace(progress, checkpoint=path)
        case Heartbeat():
            return replace(progress, doing=event.phase)
        case _:
            return progress


def _advance_point(
    progress: Progress, event: TrainingStarted | StepDone, heard_s: float, tokens: float | None = None
) -> Progress:
    """Return the progress with one more point; its time is ours if the event has none of the training process' own clock."""
    at_s = heard_s if event.at is None else event.at
    point = ProgressPoint(at_s, event.step or 0, tokens)
    return replace(progress, recent=(*progress.recent, point)[-RECENT:], doing="")


def _advance_step(progress: Progress, event: StepDone, heard_s: float) -> Progress:
    trail = progress.trail
    if (loss := event.measured_loss) is not None and progress.max_steps:
        trail = {**trail, min((event.step or 0) * COLUMNS // progress.max_steps, COLUMNS - 1): loss}
    return replace(
        _advance_point(progress, event, heard_s, event.tokens),
        trail=trail,
        epoch=progress.epoch if event.epoch is None else event.epoch,
        memory_bytes=progress.memory_bytes if event.memory_bytes is None else event.memory_bytes,
    )


def _advance_metrics(progress: Progress, event: Measurement) -> Progress:
    news = {name: MetricValue(event.step or 0, value) for name, value in event.figures()}
    return replace(progress, first={**news, **progress.first}, last={**progress.last, **news})
