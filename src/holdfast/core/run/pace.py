"""How long the steps of a training have taken so far, with everything between them."""

from dataclasses import dataclass, replace
from typing import Final

from holdfast.core.plan.estimate import Interval
from holdfast.core.run.training_event import StepDone, TrainingEvent, TrainingStarted

FEW_STEPS: Final = 3
"""Steps below which nothing is said: the first ones compile, and start the workers of the loader."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Two moments of a training, by its own clock.

    Attributes:
        began_s: Unix time at which it began; None if it did not say.
        began: Optimizer steps done then: those of the checkpoint that it continues from.
        at_s: Unix time of its newest step; None before the first.
        steps: Optimizer steps done then.
    """

    began_s: float | None = None
    began: int = 0
    at_s: float | None = None
    steps: int = 0

    @property
    def step_s(self) -> float | None:
        """The seconds of a step on average, with the evaluations and saves between; None while there are too few."""
        done = self.steps - self.began
        if self.began_s is None or self.at_s is None or done < FEW_STEPS or self.at_s <= self.began_s:
            return None
        return (self.at_s - self.began_s) / done

    def remaining(self, max_steps: int, now_s: float, newest_s: float | None) -> Interval | None:
        """Return the seconds until the last step; None while there are too few steps to tell.

        The ends are the average so far and the newest steps, apart by chance the more, the fewer steps there were. The time since the
        newest step counts for one step at most: what takes longer, such as an evaluation, brings the end no nearer.

        Args:
            max_steps: Optimizer steps that the trainer plans.
            now_s: Unix time.
            newest_s: The seconds of one of the newest steps, without what is between them; None if unknown.

        >>> Pace(began_s=0.0, began=0, at_s=64.0, steps=64).remaining(128, 64.0, 0.5)
        Interval(value=64.0, low=32.0, high=72.0)
        """
        average_s = self.step_s
        if average_s is None or self.at_s is None:
            return None
        left, since_s = max(max_steps - self.steps, 0), min(max(now_s - self.at_s, 0.0), average_s)
        paces = (average_s, newest_s or average_s)
        chance: float = 1 + (self.steps - self.began) ** -0.5
        high_s = left * max(paces) * chance
        return Interval(*(max(each - since_s, 0.0) for each in (left * average_s, left * min(paces), high_s)))


def follow_pace(pace: Pace, event: TrainingEvent) -> Pace:
    """Return the pace after an event.

    >>> follow_pace(Pace(), TrainingStarted(at=5.0, step=8))
    Pace(began_s=5.0, began=8, at_s=None, steps=0)
    """
    match event:
        case TrainingStarted():
            return Pace(began_s=event.at, began=event.step or 0)
        case StepDone(at=float(at_s), step=int(step)):
            return replace(pace, at_s=at_s, steps=step)
        case _:
            return pace
