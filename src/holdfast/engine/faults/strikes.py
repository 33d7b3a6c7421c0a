"""Where a fault strikes in a training, by what the training did when nothing disturbed it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.core.rehearse.rehearsal import PartResult
from holdfast.core.run.training_event import CheckpointSaved, Evaluated, StepDone, TrainingEvent, TrainingStarted
from holdfast.engine.faults.kinds import FaultKind

SEVERAL: Final = "several processes"
"""What a twin that plays one of them reports as not rehearsed. Source: `payload/rehearsal/devices/ranks.py`."""
KILLS: Final = ("kill", "truncated-checkpoint")
"""Faults that another process of the job would notice, and its launcher."""
OF_RANKS: Final = "the job has several processes, and only one of them could be played: if one is killed, its launcher ends the others, and another attempt follows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """Where a fault strikes.

    Attributes:
        step: The step, from 1; 0 if it cannot strike.
        skipped: Why it cannot; empty if it can.
    """

    step: int = 0
    skipped: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndisturbedCourse:
    """What the first training of an undisturbed script did.

    Attributes:
        steps: The optimizer steps that it took.
        saved: The steps after which it saved a checkpoint.
        evaluated: The steps after which it evaluated.
        pushes: Whether the script pushes anything.
        generates: Whether its trainer makes completions, the batches of which are not divided here.
        is_alone: Whether the job has one process, as its twin has.
    """

    steps: int
    saved: tuple[int, ...]
    evaluated: tuple[int, ...]
    pushes: bool
    generates: bool
    is_alone: bool = True

    @property
    def strike(self) -> int:
        """The step that faults strike in: after the checkpoint that is nearest to the middle, so that there is one to continue from."""
        before = [step for step in self.saved if step < self.steps]
        middle = max((step for step in before if step <= self.steps // 2), default=min(before, default=self.steps // 2))
        return middle + 1


def course_of(undisturbed: PartResult, processes: int = 1) -> UndisturbedCourse:
    """Return what the first training of a script did.

    Args:
        undisturbed: The training of the twin.
        processes: The processes of the job; a script may start others itself, of which the twin plays one.
    """
    omitted = {each["what"] for each in undisturbed.reported("not_rehearsed")}
    events = first_training(undisturbed.events)
    arguments = undisturbed.first("training").get("arguments", {})
    return UndisturbedCourse(
        steps=max((event.step or 0 for event in events if isinstance(event, StepDone)), default=0),
        saved=_steps(events, CheckpointSaved),
        evaluated=_steps(events, Evaluated),
        pushes=any(each.get("action") == "commit" for each in undisturbed.facts("push")),
        generates=bool(arguments.get("num_generations")),
        is_alone=processes == 1 and SEVERAL not in omitted,
    )


def choose_strike(kind: FaultKind, course: UndisturbedCourse) -> Strike:
    """Return the step that a fault strikes in, or why it cannot."""
    if course.steps < 2:  # noqa: PLR2004 - one before it, and the one that it strikes in
        return Strike(skipped="no transformers trainer takes two steps in the rehearsal")
    if kind.name in KILLS and not course.is_alone:
        return Strike(skipped=OF_RANKS)
    lacking = {
        "evaluation": not any(step >= course.strike for step in course.evaluated),
        "save": not any(step >= course.strike for step in course.saved),
        "checkpoint": not any(step < course.strike for step in course.saved),
        "push": not course.pushes,
    }
    if lacking.get(kind.needs):
        words = {"evaluation": "evaluates nothing", "push": "pushes nothing"}
        return Strike(skipped=f"the job {words.get(kind.needs, 'saves no checkpoint')} in the steps of the rehearsal")
    if kind.name in ("oom-train", "oom-eval") and course.generates:
        return Strike(
            skipped="the twin's completions of a prompt are not divided, so that no smaller batch can be shown"
        )
    return Strike(step=course.strike)


def first_training(events: Sequence[TrainingEvent]) -> list[TrainingEvent]:
    """Return the events of the first training: a script may train more than once."""
    starts = [number for number, event in enumerate(events) if isinstance(event, TrainingStarted)]
    return list(events[starts[0] : starts[1] if len(starts) > 1 else None]) if starts else []


def _steps(events: Sequence[TrainingEvent], kind: type[TrainingEvent]) -> tuple[int, ...]:
    return tuple(sorted({event.step for event in events if isinstance(event, kind) and event.step}))
