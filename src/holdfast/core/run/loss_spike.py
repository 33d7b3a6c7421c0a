"""A loss that stays far above all that a training has logged: what it has learnt is gone, though every number is finite.

One high loss, or some, are common in healthy trainings: a hard batch, rows of another kind, a spike that training comes back from. So a
spike is proven only by a whole row of logged losses, each of them above the highest one before and far above the usual one. While they
fall, nothing is proven: training comes back.
"""

from dataclasses import dataclass, replace
from statistics import mean, median
from typing import Final

from holdfast.core.run.training_event import StepDone

LEARNT: Final = 32
"""Logged losses before which a training is not judged."""
RECENT: Final = 64
"""The newest logged losses, whose median is the usual loss."""
FAR: Final = 4.0
"""Times the usual loss that a high one is at least."""
FAR_BY: Final = 1.0
"""Nats above the usual loss that a high one is at least."""
BEYOND: Final = 0.5
"""Share of the distance from the usual loss to the highest one, on a logarithmic scale, by which a high one is above the latter."""
SPIKE_LOSSES: Final = 10
"""High losses in a row that prove a spike."""
FALLING: Final = 0.9
"""The mean of the newer half of them, as a share of that of the older half, below which they fall."""
LONGEST: Final = 4 * SPIKE_LOSSES
"""High losses in a row of which the steps can be skipped; if they have fallen all the time, they are the usual ones then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSpike:
    """High losses in a row.

    Attributes:
        after: The step of the last logged loss before them.
        first: The step of the first one.
        last: The step of the newest one.
        usual: The usual loss before them.
        losses: The losses.
        is_proven: Whether so many came in a row, and did not fall.
    """

    after: int
    first: int
    last: int
    usual: float
    losses: tuple[float, ...] = ()
    is_proven: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRange:
    """The losses that a training has logged, as far as a spike is judged by them.

    Attributes:
        step: The step of the newest.
        count: How many were logged.
        recent: The newest.
        highest: The highest of all.
        spike: The high losses at its end, which are not counted yet; None if there are none. One that is proven stays.
    """

    step: int = 0
    count: int = 0
    recent: tuple[float, ...] = ()
    highest: float = 0.0
    spike: LossSpike | None = None

    @property
    def has_spiked(self) -> bool:
        """Whether a spike is proven."""
        return self.spike is not None and self.spike.is_proven


def follow_loss_range(known: LossRange, event: StepDone) -> LossRange:
    """Return the range after a step. A step that was skipped logs 0, and tells nothing; nor does a loss that can be negative.

    >>> follow_loss_range(LossRange(), StepDone(step=5, loss=2.5))
    LossRange(step=5, count=1, recent=(2.5,), highest=2.5, spike=None)
    """
    step, loss = event.step or 0, event.loss or 0.0
    if loss <= 0:
        return known
    if _is_high(known, loss):
        return _with_high(known, step, loss)
    if known.has_spiked:  # the attempt is ended for it, and some more steps are logged until it has heard that
        return known
    return _counted(known, step, *(known.spike.losses if known.spike else ()), loss)


def begin_loss_range(known: LossRange) -> LossRange:
    """Return the range of an attempt that follows another: it knows how high the losses of healthy steps were."""
    return LossRange(highest=known.highest)


def _is_high(known: LossRange, loss: float) -> bool:
    """True if a loss is above all before, and far above the usual one."""
    if loss <= known.highest or known.count < LEARNT:
        return False
    usual = known.spike.usual if known.spike else median(known.recent)
    beyond: float = (known.highest / usual) ** BEYOND
    return loss > max(FAR * usual, usual + FAR_BY, known.highest * beyond)


def _with_high(known: LossRange, step: int, loss: float) -> LossRange:
    """Return the range with one more high loss. A spike that is proven and goes on for very long is not followed to its end."""
    spike = _extended(known, step, loss)
    if len(spike.losses) <= LONGEST:
        return replace(known, spike=spike)
    return known if known.has_spiked else _counted(known, step, *spike.losses)


def _extended(known: LossRange, step: int, loss: float) -> LossSpike:
    """Return the high losses with one more."""
    before = known.spike or LossSpike(after=known.step, first=step, last=step, usual=median(known.recent))
    losses = (*before.losses, loss)
    is_proven = before.is_proven or (len(losses) >= SPIKE_LOSSES and not _fall(losses))
    return replace(before, last=step, losses=losses, is_proven=is_proven)


def _fall(losses: tuple[float, ...]) -> bool:
    """True if the newest high losses fall."""
    newest, half = losses[-SPIKE_LOSSES:], SPIKE_LOSSES // 2
    return mean(newest[half:]) < FALLING * mean(newest[:half])


def _counted(known: LossRange, step: int, *losses: float) -> LossRange:
    """Return the range with some more losses, none of them in a spike any more."""
    return LossRange(
        step=step,
        count=known.count + len(losses),
        recent=(*known.recent, *losses)[-RECENT:],
        highest=max(known.highest, *losses),
    )
