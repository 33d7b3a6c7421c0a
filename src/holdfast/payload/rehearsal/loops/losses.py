"""The losses of a loop: what is computed, whether it is a number, and which tensors it depends on.

Source: `torch.Tensor.backward`, which accelerate's `backward` and a scaled loss call too; hooks of all modules, whose
keyword arguments torch gives since 2.1. Covered: losses that `backward` is called on. Not covered: `torch.autograd.grad`.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..events import EventWriter
from ..libraries import torch
from ..predictions import CAUSAL
from ..trainers.green import masks_at_random
from ..wrapping import wrap
from .updates import OptimizerWatch, held_by

IGNORED = -100
"""The label of tokens that no loss counts."""
MATRIX = 2
"""Dimensions of rows of labels."""
SCALED = ("DivBackward", "MulBackward")
"""How the last operation of a loss is named that the loop scales itself."""
MOST = 100_000
"""Operations of a loss that are gone through."""


class LossRecord:
    """What was seen of the losses that `backward` was called on in the script's own lines.

    Attributes:
        count: How often `backward` was called.
        values: Each loss that is one number.
        own: The losses that language models computed themselves from labels.
        leaves: The tensors that the first loss has gradients for.
        labels: How often a model was given labels, where gradients are computed.
        masked: How often all of them were -100.
        rows: Rows of labels.
        masked_rows: Rows whose labels are all -100.
        accumulated: Of how many batches accelerate adds up gradients; 1 where the loop does not ask for that.
        whole: Whether a loss was not divided by that number, by accelerate's `backward` or otherwise.
        twice: The number that a loss was divided by before accelerate's `backward` divided it by the same; else 0.
        evaluates: Whether a model that is trained was called without gradients, in the mode of evaluation.
    """

    def __init__(self, events: EventWriter, updates: OptimizerWatch) -> None:
        self._events, self._updates = events, updates
        self._divides = False  # whether accelerate's own `backward` is under way
        self.count = 0
        self.values: list[float] = []
        self.own: list[float] = []
        self.leaves: list[Any] = []
        self.labels = self.masked = self.rows = self.masked_rows = 0
        self.accumulated = 1
        self.twice = 0
        self.whole = self.evaluates = False
        self._checkpoints = False

    @property
    def lost(self) -> list[int]:
        """The numbers of the losses that are no numbers, from 1."""
        return [number for number, value in enumerate(self.values, 1) if not math.isfinite(value)]

    def watch(self, module: Any) -> None:
        """Watch where gradients are computed."""
        wrap(module.Tensor, "backward", self._backward)

    def watch_models(self, module: Any) -> None:
        """Watch the labels that models are given, and the losses that they return."""
        try:
            module.register_module_forward_hook(self._look_at_call, with_kwargs=True)
        except TypeError:  # an older torch
            return

    def watch_checkpointing(self, module: Any) -> None:
        """Watch whether activations are computed anew, which can leave a loss without a gradient."""
        wrap(module.PreTrainedModel, "gradient_checkpointing_enable", self._checkpoint)

    def watch_accelerator(self, module: Any) -> None:
        """Watch accelerate's `backward`, which divides a loss by the batches that it accumulates."""
        wrap(module.Accelerator, "backward", self._divide)
        wrap(module.Accelerator, "accumulate", self._accumulate)

    def _backward(self, original: Any, loss: Any, *args: Any, **kwargs: Any) -> Any:
        if self._events.is_outside:
            self._updates.expect()
            if loss.requires_grad:
                self._note(loss)
            elif not self._checkpoints:  # which can cut a loss off from an adapter
                self._report_cut(self._updates.made)
        return original(loss, *args, **kwargs)

    def _report_cut(self, optimizers: Sequence[Any]) -> None:
        """Tell why a loss has no gradient, before torch raises for it."""
        held = held_by(optimizers)
        trained = sum(each.requires_grad for each in held)
        if trained:
            because = (
                f"the loss has no gradient, though {trained} tensors in the optimizer are trained: it was computed under "
                "`torch.no_grad()`, or cut off from the model by `detach`, `item` or a new tensor"
            )
            fix = "Compute the loss outside `torch.no_grad()`, and call `backward` on the loss that the model returns."
            self._events.fault("weights-not-updated", "step", because, fix=fix)
        elif held:
            because = f"none of the {len(held)} tensors in the optimizer requires a gradient"
            fix = "Leave `requires_grad` of what is to be trained as it is, or add an adapter, before the optimizer is made."
            self._events.fault("no-trainable-parameters", "step", because, fix=fix)

    def _note(self, loss: Any) -> None:
        if not self.count:
            self.leaves = list(_leaves(loss))
        self.count += 1
        if loss.numel() == 1:
            self.values.append(float(loss.detach()))
        scaled = self._divides or type(loss.grad_fn).__name__.startswith(SCALED)
        self.whole = self.whole or (self.accumulated > 1 and not scaled)

    def _checkpoint(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        self._checkpoints = True
        self._events.fact("checkpoints")
        return original(*args, **kwargs)

    def _divide(self, original: Any, accelerator: Any, loss: Any, *args: Any, **kwargs: Any) -> Any:
        count = accelerator.gradient_accumulation_steps
        if self._events.is_outside and count > 1 and _is_divided(loss, count):
            self.twice = count
        self._divides = True
        try:
            return original(accelerator, loss, *args, **kwargs)
        finally:
            self._divides = False

    @contextmanager
    def _accumulate(self, original: Any, accelerator: Any, *models: Any) -> Iterator[None]:
        if self._events.is_outside:
            self.accumulated = accelerator.gradient_accumulation_steps
        self._updates.accelerator = accelerator
        try:
            with original(accelerator, *models):
                yield
        finally:
            self._updates.accelerator = None

    def _look_at_call(self, module: Any, _args: Any, kwargs: Any, output: Any) -> None:
        """Look at the labels that a model is given, or whether it is evaluated. Each module of a model calls it, so it is fast."""
        labels: Any = kwargs.get("labels") if kwargs else None
        if labels is None and self.evaluates:
            return
        if torch.is_grad_enabled():
            self._look_at_labels(labels, module, output)
        elif not self.evaluates and self._events.is_outside:
            self.evaluates = self._is_evaluated(module)

    def _look_at_labels(self, labels: Any, module: Any, output: Any) -> None:
        if not torch.is_tensor(labels) or not self._events.is_outside:
            return
        masked: Any = labels == IGNORED
        self.labels, self.masked = self.labels + 1, self.masked + int(masked.all())
        if masked.dim() == MATRIX and not masks_at_random(module):
            self.rows, self.masked_rows = self.rows + len(masked), self.masked_rows + int(masked.all(dim=1).sum())
        self._note_own_loss(output, module)

    def _note_own_loss(self, output: Any, module: Any) -> None:
        loss: Any = getattr(output, "loss", None)
        if torch.is_tensor(loss) and loss.numel() == 1 and type(module).__name__.endswith(CAUSAL):
            self.own.append(float(loss.detach()))

    def _is_evaluated(self, module: Any) -> bool:
        """True if a model is in evaluation mode and one of the script's optimizers holds a weight of it."""
        if module.training or not hasattr(module, "config") or not self._updates.made:
            return False
        held = {id(each) for each in held_by(self._updates.made)}
        return any(id(each) in held for each in module.parameters())


def _is_divided(loss: Any, count: int) -> bool:
    """True of a loss whose last operation divided it by a number."""
    divisor: Any = getattr(loss.grad_fn, "_saved_other", None)
    is_division = type(loss.grad_fn).__name__.startswith("DivBackward") and torch.is_tensor(divisor)
    return is_division and divisor.numel() == 1 and float(divisor) == count


def _leaves(loss: Any) -> Iterator[Any]:
    """Yield the tensors that a loss has gradients for."""
    if loss.grad_fn is None:
        return
    waiting, known = [loss.grad_fn], {loss.grad_fn}
    while waiting and len(known) < MOST:
        operation = waiting.pop()
        if hasattr(operation, "variable"):
            yield operation.variable
        for before, _ in operation.next_functions:
            if before is not None and before not in known:
                known.add(before)
                waiting.append(before)
