"""A training whose weights are lost: its gradients and its loss are not finite any more."""

from dataclasses import dataclass, replace
from typing import Final

from holdfast.core.run.training_event import StepDone

LOST_STEPS: Final = 3
"""Logged steps in a row without a finite gradient or a loss, after which a training is stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostLoss:
    """Steps since which neither the gradients nor the loss of an attempt are finite.

    Attributes:
        after: The last logged step with finite gradients.
        first: The first logged one without.
        count: How many logged steps since had no loss either: the trainer logs 0 in its place, or what is not finite.
    """

    after: int
    first: int
    count: int = 0

    @property
    def is_proven(self) -> bool:
        """Whether the weights are lost: no training comes back from that."""
        return self.count >= LOST_STEPS


def follow_loss(finite_step: int, lost: LostLoss | None, event: StepDone) -> tuple[int, LostLoss | None]:
    """Return the last logged step with finite gradients, and since when they are lost, after a step; one that was not logged tells nothing.

    >>> follow_loss(8, None, StepDone(step=9, nan=("grad_norm",), loss=2.0))
    (8, LostLoss(after=8, first=9, count=0))
    """
    step = event.step or 0
    if event.grad_norm is not None:
        return step, None
    if "grad_norm" not in event.nan:
        return finite_step, lost
    lost = lost or LostLoss(after=finite_step, first=step)
    has_loss = event.loss not in (0, None)  # None: it is not finite
    return finite_step, replace(lost, count=0 if has_loss else lost.count + 1)
