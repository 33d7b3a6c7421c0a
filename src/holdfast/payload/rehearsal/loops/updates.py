"""The updates of a loop: what its optimizers hold, whether it has gradients when they step, and what clears them.

Source: `Optimizer.register_optimizer_step_pre_hook`, of torch since 2.0, and the two `zero_grad` of torch.
"""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..events import EventWriter
from ..wrapping import wrap, wrap_everywhere
from .saves import SavedModels

NEWS_S = 2.0
"""Seconds between two reports that a loop makes progress: a silent loop counts as hanging when its time is over."""


@dataclass
class OptimizerRecord:
    """What was seen of one optimizer.

    Attributes:
        steps: How many it took.
        reached: Whether any of its tensors ever had a gradient.
        moves: Whether its learning rate ever was another than 0.
        asked: The learning rate that it was made with.
        cleared: Steps before which gradients were computed and then cleared.
        size: The norm of all its tensors together, before its first step.
        largest: The largest that this norm was before a step, as long as it was a number.
    """

    steps: int = 0
    reached: bool = False
    moves: bool = False
    asked: float = 0.0
    cleared: int = 0
    size: float = 0.0
    largest: float = 0.0

    def note_rates(self, groups: Sequence[Mapping[str, Any]]) -> None:
        """Take the learning rates of an optimizer's groups at a step."""
        begun = [_rate(group.get("initial_lr", group.get("lr"))) for group in groups]
        self.asked = max([self.asked, *begun])
        self.moves = self.moves or any(_rate(group.get("lr")) for group in groups)

    def note_step(self, *, reached: bool, cleared: bool) -> None:
        """Count a step, with gradients or without; those may have been cleared before it."""
        self.steps += 1
        self.reached = self.reached or reached
        self.cleared += cleared and not reached


class OptimizerWatch:
    """Watches the optimizers of the script's own lines.

    Attributes:
        made: Each that was made.
        seen: What was seen of each that stepped, with the optimizer, so that no other gets its id.
        kept: How often `backward` was called when all optimizers had the gradients of their last step still.
        saves: The models that were saved.
        accelerator: The one of accelerate within whose `accumulate` the loop is; None outside.
        hasty: Steps in the middle of batches that accelerate adds up.
        clips: How often gradients were clipped.
        idle_clips: How often they were clipped where no `backward` came before and no step came after.
    """

    def __init__(self, events: EventWriter) -> None:
        self._events = events
        self._is_idle = False  # whether gradients were clipped since the last step or `backward`, and none were new
        self.saves = SavedModels()
        self.accelerator: Any = None
        self.hasty = self.clips = self.idle_clips = 0
        self._is_fresh = False  # whether `backward` was called since the last step
        self._cleared = False  # whether gradients were cleared since then
        self._reported_s = 0.0  # when progress was reported last
        self.made: list[Any] = []
        self.seen: dict[int, tuple[Any, OptimizerRecord]] = {}
        self.kept = 0

    def watch(self, module: Any) -> None:
        """Watch all optimizers of torch."""
        if hasattr(module, "register_optimizer_step_pre_hook"):
            wrap(module.Optimizer, "__init__", self._make)
            wrap(module.Optimizer, "zero_grad", self._clear)
            module.register_optimizer_step_pre_hook(self._step)

    def watch_models(self, module: Any) -> None:
        """Watch what clears the gradients of a model."""
        wrap(module.Module, "zero_grad", self._clear)

    def watch_clipping(self, module: Any) -> None:
        """Watch where gradients are clipped."""
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            wrap_everywhere(module, name, self._clip)

    @property
    def steps(self) -> int:
        """The steps of the optimizer that took most."""
        return max((each.steps for _, each in self.seen.values()), default=0)

    @property
    def held(self) -> list[Any]:
        """The tensors that the optimizers hold."""
        return held_by([optimizer for optimizer, _ in self.seen.values()])

    @property
    def growth(self) -> float:
        """How many times as large the weights of an optimizer became as before its first step, at most; 0 if they were 0."""
        for optimizer, seen in self.seen.values():
            seen.largest = _largest(seen.largest, _size(optimizer))
        return max((seen.largest / seen.size for _, seen in self.seen.values() if seen.size), default=0.0)

    def expect(self) -> None:
        """Take it that `backward` is about to be called."""
        if self.made:
            self._events.go_on("step")
        if self.seen and not self._is_fresh and all(map(_has_left, (each for each, _ in self.seen.values()))):
            self.kept += 1
        self._is_fresh = True
        self.idle_clips, self._is_idle = self.idle_clips + self._is_idle, False

    def _make(self, original: Any, optimizer: Any, *args: Any, **kwargs: Any) -> None:
        original(optimizer, *args, **kwargs)
        if self._events.is_outside:
            self.made.append(optimizer)

    def _clip(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        if self._events.is_outside:
            self.clips, self._is_idle = self.clips + 1, not self._is_fresh
        return original(*args, **kwargs)

    def _clear(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        if self._events.is_outside:
            self._cleared = self._cleared or self._is_fresh
        return original(*args, **kwargs)

    def _step(self, optimizer: Any, args: Any = (), kwargs: Any = None) -> None:
        if not self._events.is_outside:
            return
        self._events.go_on("step")
        if id(optimizer) not in self.seen:
            self.saves.begin(held_by([optimizer]))
        self.hasty += self.accelerator is not None and not self.accelerator.sync_gradients
        size = _size(optimizer)
        _, seen = self.seen.setdefault(id(optimizer), (optimizer, OptimizerRecord(size=size)))
        seen.largest = _largest(seen.largest, size)
        seen.note_rates(optimizer.param_groups)
        seen.note_step(reached=_has_closure(args, kwargs) or self._has_gradients(optimizer), cleared=self._cleared)
        self._cleared = self._is_fresh = self._is_idle = False
        self._report_steps()

    def _report_steps(self) -> None:
        """Report how far the loop is, now and then."""
        if time.monotonic() - self._reported_s > NEWS_S:
            self._reported_s = time.monotonic()
            self._events.fact("updates", steps=self.steps)

    def _has_gradients(self, optimizer: Any) -> bool:
        """True if there is a gradient to step by; zeros are one, unless it is clearing that made them."""
        there = (each.grad for each in held_by([optimizer]) if each.grad is not None)
        return any(not self._cleared or bool(each.ne(0).any()) for each in there)


def _has_closure(args: Any, kwargs: Any) -> bool:
    """True if a step is given a function that computes the gradients."""
    return any(map(callable, [*args[1:], *(kwargs or {}).values()]))


def _size(optimizer: Any) -> float:
    """Return the norm of all tensors of an optimizer together."""
    return math.sqrt(sum(float(each.detach().double().pow(2).sum()) for each in held_by([optimizer])))


def _largest(before: float, size: float) -> float:
    return max(before, size) if math.isfinite(size) else before


def _has_left(optimizer: Any) -> bool:
    """True if an optimizer's tensors have gradients other than 0."""
    return any(each.grad is not None and bool(each.grad.ne(0).any()) for each in held_by([optimizer]))


def held_by(optimizers: Iterable[Any]) -> list[Any]:
    """Return the tensors that optimizers hold."""
    return [each for optimizer in optimizers for group in optimizer.param_groups for each in group["params"]]


def _rate(given: Any) -> float:
    """Return a learning rate; some optimizers have none, or find their own."""
    return 1.0 if given is None else float(given)
