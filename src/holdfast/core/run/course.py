"""How the numbers of a training have gone: as much of them as signs of trouble are read from."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from holdfast.core.run.training_event import (
    CheckpointSaved,
    Evaluated,
    PushFailed,
    StepDone,
    TrainingEvent,
    TrainingStarted,
)

MOST_LOSSES: Final = 256
"""Losses that are kept; of more, every second one is left out, so that they span the whole training."""
RECENT: Final = 100
"""Newest values that are kept of what is judged by its newest values."""
MEDIAN_STEPS: Final = 20
"""Steps whose median duration says how fast a training is."""
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
        saved: The newest checkpoint; None before the first.
        saved_every: Steps between it and the one before, or the start.
        keeps: How many checkpoints are kept: `save_total_limit`; None for all.
        max_steps: Optimizer steps that the trainer plans; None if it did not report them.
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
    saved: CheckpointSaved | None = None
    saved_every: int = 0
    keeps: int | None = None
    max_steps: int | None = None


def follow_course(course: Course, event: TrainingEvent) -> Course:
    """Return the course after an event.

    >>> follow_course(Course(), StepDone(step=1, loss=2.0, elapsed_s=0.5)).losses
    (2.0,)
    """
    match event:
        case TrainingStarted():
            return _at_start(event)
        case CheckpointSaved():
            return _after_save(course, event)
        case StepDone():
            return _after_step(course, event)
        case Evaluated():
            return _after_evaluation(course, event)
        case PushFailed():
            return replace(course, push_failed=event.because)
        case _:
            return course


def _at_start(event: TrainingStarted) -> Course:
    """Return the course of a training that begins, or continues from a checkpoint."""
    keeps = event.config.get("save_total_limit")
    return Course(
        hardware=event.hardware,
        saved=CheckpointSaved(step=event.step),
        keeps=keeps if isinstance(keeps, int) else None,
        max_steps=event.max_steps,
    )


def _after_save(course: Course, event: CheckpointSaved) -> Course:
    before = course.saved.step if course.saved else 0
    return replace(course, saved=event, saved_every=(event.step or 0) - (before or 0))


def _after_step(course: Course, event: StepDone) -> Course:
    """Return the course after a step. It is made at once: a report is made from a hundred thousand of them."""
    losses, stride, logged = _losses(course, event.measured_loss)
    seconds = course.seconds
    if event.elapsed_s and event.activity != "first-step":
        seconds = (*seconds, event.elapsed_s)[-RECENT:]
    memory_bytes = (*course.memory_bytes, event.memory_bytes)[-RECENT:] if event.memory_bytes else course.memory_bytes
    return Course(
        losses=losses,
        stride=stride,
        logged=logged,
        evaluations=course.evaluations,
        seconds=seconds,
        fastest_s=course.fastest_s if seconds is course.seconds else _fastest_s(seconds, course.fastest_s),
        memory_bytes=memory_bytes,
        metrics=_metrics(course.metrics, event),
        hardware=course.hardware,
        push_failed=course.push_failed,
        saved=course.saved,
        saved_every=course.saved_every,
        keeps=course.keeps,
        max_steps=course.max_steps,
    )


def _after_evaluation(course: Course, event: Evaluated) -> Course:
    loss = dict(event.figures()).get("eval_loss")
    return course if loss is None else replace(course, evaluations=(*course.evaluations, loss)[-RECENT:])


def _losses(course: Course, loss: float | None) -> tuple[tuple[float, ...], int, int]:
    """Return the losses, the stride and the number of logged losses after a step."""
    if loss is None:
        return course.losses, course.stride, course.logged
    logged = course.logged + 1
    if logged % course.stride:
        return course.losses, course.stride, logged
    losses = (*course.losses, loss)
    return (losses, course.stride, logged) if len(losses) <= MOST_LOSSES else (losses[1::2], 2 * course.stride, logged)


def _fastest_s(seconds: tuple[float, ...], fastest_s: float | None) -> float | None:
    """Return the shortest pace after a step; the pace is the upper median."""
    if len(seconds) < MEDIAN_STEPS:
        return fastest_s
    pace_s = sorted(seconds[-MEDIAN_STEPS:])[MEDIAN_STEPS // 2]
    return pace_s if fastest_s is None else min(pace_s, fastest_s)


def _metrics(metrics: Mapping[str, tuple[float, ...]], event: StepDone) -> Mapping[str, tuple[float, ...]]:
    logged = event.metrics or {}
    figures = {name: value for name in KEPT if isinstance(value := logged.get(name), (int, float))}
    if not figures:
        return metrics
    return {**metrics, **{name: (*metrics.get(name, ()), value)[-RECENT:] for name, value in figures.items()}}
