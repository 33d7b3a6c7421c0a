"""How far a run is, how fast it goes and how long it will take: made from its events alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.core.event import AttemptState, Event, Liveness, Polled, Reported, RunState, Starting, advance

RECENT = 100  # steps the rhythm is taken from: enough to span an evaluation now and then, few enough to follow a change
DOING = {"import": "loading libraries", "load": "loading model and data", "evaluate": "evaluating", "save": "saving"}
COLUMNS = 24  # parts of the run for which a loss is kept, so that its trail can be drawn beside the bar


@dataclass(frozen=True, slots=True)
class ProgressPoint:
    """A moment of training.

    Attributes:
        at_s: Unix time by the training process' own clock.
        step: Optimizer steps done.
        tokens: Tokens seen, or None where the trainer does not count them.
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
    """What can be said of a run while it goes on, and after.

    Attributes:
        state: The run, as its events tell.
        spent_s: Seconds that the attempts took which have ended.
        recent: The newest marks of the current attempt.
        first: The first value of each metric; of `eval_loss` the one before training, where that was measured.
        last: The newest value of each metric.
        trail: The newest loss in each part of the run, by the part's number, below `COLUMNS`.
        checkpoint: Path of the newest checkpoint, as the training process named it.
        doing: What the training process was last heard to be at, where that is no step.
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
        """Steps the trainer means to do, or None before it said so."""
        return self.attempt.max_steps if self.attempt else None

    @property
    def phase(self) -> str:
        """What the run is doing, in a word."""
        attempt = self.attempt
        if self.state.stage.ended:
            return "refused" if self.state.refused_by else self.state.stage.value
        if self.state.stop:
            return "stopping"
        if attempt is None or not attempt.id:
            return "queued"
        if self.doing in DOING:
            return DOING[self.doing]
        if attempt.max_steps is None:
            return "starting"
        return "training" if attempt.steps < attempt.max_steps else "finishing"

    @property
    def steps_per_s(self) -> float | None:
        """Speed over the recent marks, evaluations and saves included; None before there are two."""
        return _speed([(mark.at_s, mark.step) for mark in self.recent])

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens a second over the recent marks; None where they are not counted."""
        return _speed([(mark.at_s, mark.tokens) for mark in self.recent if mark.tokens is not None])

    def elapsed_s(self, now_s: float) -> float:
        """Seconds that all attempts took; time in which none ran does not count."""
        if self.attempt is None or self.attempt.stage.ended:
            return self.spent_s
        return self.spent_s + max(now_s - self.attempt.started_s, 0.0)

    def left_s(self, now_s: float) -> float | None:
        """Seconds until the last step by the job's own recent rhythm, or None while that is not known."""
        speed = self.steps_per_s
        if not speed or self.max_steps is None or self.state.stage.ended:
            return None
        since_mark_s = max(now_s - self.recent[-1].at_s, 0.0)
        return max((self.max_steps - self.recent[-1].step) / speed - since_mark_s, 0.0)


def follow(events: Iterable[Event], progress: Progress | None = None) -> Progress:
    """Replay events into a progress, from the beginning or from where one stands."""
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
            return replace(progress, spent_s=before.elapsed_s(event.at_s))
        case Reported(said=said):
            return _advance_report(progress, said, event.at_s)
        case _:
            return progress


def _speed(counted: Sequence[tuple[float, float]]) -> float | None:
    """Return the units per second between the first and the last count; each count is (seconds, units)."""
    if not counted or counted[-1][0] <= counted[0][0]:
        return None
    (start_s, before), (end_s, after) = counted[0], counted[-1]
    return (after - before) / (end_s - start_s)


def _advance_report(progress: Progress, report: Mapping[str, Any], heard_s: float) -> Progress:
    match report.get("event"):
        case "start":
            return _advance_mark(progress, report, heard_s)
        case "step":
            return _advance_mark(_advance_metrics(progress, report), report, heard_s)
        case "evaluate":
            return _advance_metrics(progress, report)
        case "checkpoint":
            return replace(progress, checkpoint=report.get("path", progress.checkpoint))
        case "heartbeat":
            return replace(progress, doing=report.get("phase", ""))
        case _:
            return progress


def _advance_mark(progress: Progress, report: Mapping[str, Any], heard_s: float) -> Progress:
    mark = ProgressPoint(report.get("at", heard_s), report.get("step") or 0, report.get("tokens"))
    loss, trail = report.get("loss"), progress.trail
    if isinstance(loss, (int, float)) and progress.max_steps:
        trail = {**trail, min(mark.step * COLUMNS // progress.max_steps, COLUMNS - 1): loss}
    return replace(
        progress,
        recent=(*progress.recent, mark)[-RECENT:],
        trail=trail,
        doing="",
        epoch=report.get("epoch", progress.epoch),
        memory_bytes=report.get("memory_bytes", progress.memory_bytes),
    )


def _advance_metrics(progress: Progress, report: Mapping[str, Any]) -> Progress:
    news = {name: MetricValue(report.get("step") or 0, value) for name, value in measured(report)}
    return replace(progress, first={**news, **progress.first}, last={**progress.last, **news})


def measured(report: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the name and value of each number that a step or an evaluation reports; a step's loss is `loss`."""
    for name in ("loss", "grad_norm", "learning_rate"):
        if isinstance(value := report.get(name), (int, float)):
            yield name, value
    for name, value in (report.get("metrics") or {}).items():
        if isinstance(value, (int, float)):
            yield name, value
