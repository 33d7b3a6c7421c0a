"""The schedules of a loop's learning rate: whether they move, and whether they move before the optimizer does.

Source: `torch.optim.lr_scheduler.LRScheduler`, of torch since 2.0: making one takes its first step, of many at once each.
"""

from typing import Any

from ..events import EventWriter
from ..wrapping import every_class, wrap
from .losses import LossRecord
from .updates import OptimizerWatch


class ScheduleWatch:
    """Watches the schedules of the script's own lines.

    Attributes:
        made: How many were made.
        moves: How often any of them moved.
        early: Whether one moved after `backward` and before the first step of an optimizer.
    """

    def __init__(self, events: EventWriter, losses: LossRecord, updates: OptimizerWatch) -> None:
        self._events, self._losses, self._updates = events, losses, updates
        self._making = False
        self.made = self.moves = 0
        self.early = False

    def watch(self, module: Any) -> None:
        """Watch all schedules of torch."""
        base = getattr(module, "LRScheduler", None)
        if base is None:
            return
        wrap(base, "__init__", self._make)
        every_class(base, "step", self._step)

    def _make(self, original: Any, *args: Any, **kwargs: Any) -> None:
        self.made += self._events.is_outside
        before, self._making = self._making, True
        try:
            original(*args, **kwargs)
        finally:
            self._making = before

    def _step(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        if self._events.is_outside and not self._making:
            self.moves += 1
            self.early = self.early or bool(self._losses.count and not self._updates.steps)
        return original(*args, **kwargs)
