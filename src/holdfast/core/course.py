"""How the numbers of a training have gone: as much of them as signs of trouble are read from."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final

from holdfast.core.training_event import Evaluated, PushFailed, StepDone, TrainingEvent, TrainingStarted

MOST_LOSSES: Final = 256
"""Losses that are kept; of more, every second one is left out, so that they span the whole training."""
RECENT: Final = 100
"""Newest values that are kept of what is judged by its newest values."""
PACE: Final = 20
"""Steps whose median duration is a pace."""
KEPT: Final = ("reward", "reward_std", "frac_reward_zero_std", "completions/clipped_ratio")
"""Metrics that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The numbers of a training.

    Attributes:
        losses: Losses of the training, evenly spaced over it.
        stride: Every so many logged steps, one is kept.
        logged: How many steps with a loss were logged.
        evaluations: Losses of evaluations.
        seconds: The newest durations of steps.
        fastest_s: The shortest median duration of so many steps in a row; None before there were so many.
        memory_bytes: The most memory that the process took, after each of the newest steps.
        metrics: The newest values of some metrics.
        hardware: Names of the devices.
        push_failed: Why the last upload in the background failed; empty if none did.
    """

    losses: tuple[float, ...] = ()
    stride: int = 1
    logged: int = 0
    evaluations: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    fastest_s: float | None = None
    memory_bytes: tuple[int, ...] = ()
    metrics: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
    hardware: tuple[str, ...] = ()
    push_failed: str = ""


def follow_course(course: Course, event: TrainingEvent) -> Course:
    """Return the course after an event.

    >>> follow_course(Course(), StepDone(step=1, loss=2.0, elapsed_s=0.5)).losses
    (2.0,)
    """
    match event:
        case TrainingStarted():
            return Course(hardware=event.hardware)
        case StepDone():
            return _after_metrics(_after_pace(_after_loss(course, event), event), event)
        case Evaluated():
            loss = dict(event.figures()).get("eval_loss")
            return course if loss is None else replace(course, evaluations=(*course.evaluations, loss)[-RECENT:])
        case PushFailed():
            return replace(course, push_failed=event.because)
        case _:
            return course


def _after_loss(course: Course, event: StepDone) -> Course:
    if event.loss is None:
        return course
    course = replace(course, logged=course.logged + 1)
    if course.logged % course.stride:
        return course
    losses = (*course.losses, event.loss)
    return (
        replace(course, losses=losses)
        if len(losses) <= MOST_LOSSES
        else replace(course, losses=losses[1::2], stride=2 * course.stride)
    )


def _after_pace(course: Course, event: StepDone) -> Course:
    if event.memory_bytes:
        course = replace(course, memory_bytes=(*course.memory_bytes, event.memory_bytes)[-RECENT:])
    if not event.elapsed_s or event.activity == "first-step":
        return course
    seconds = (*course.seconds, event.elapsed_s)[-RECENT:]
    if len(seconds) < PACE:
        return replace(course, seconds=seconds)
    pace_s = median(seconds[-PACE:])
    return replace(course, seconds=seconds, fastest_s=min(pace_s, course.fastest_s or pace_s))


def _after_metrics(course: Course, event: StepDone) -> Course:
    figures = {name: value for name, value in event.figures() if name in KEPT}
    if not figures:
        return course
    kept = {name: (*course.metrics.get(name, ()), value)[-RECENT:] for name, value in figures.items()}
    return replace(course, metrics={**course.metrics, **kept})
