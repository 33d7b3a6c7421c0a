"""On which side of a GPU that is not here a model and its batches would lie, in loops of the script's own, and a loss's weights.

Known is only what was never touched: a model that nothing has moved lies in main memory, and so do the first batch of a
plain loader, and numbers that the script makes a tensor of; a batch of accelerate's loader lies on the GPU, and so does what
a `Trainer` trains with. Whatever else was done to any of them leaves its place unknown.
Source: the messages are those of torch 2.6 and later, of an embedding's `index_select` and of `nll_loss`.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import FrameType
from typing import Any

from ..events import EventWriter
from ..wrapping import when_imported, wrap

AT = "_holdfast_at"
FAR, HERE, UNKNOWN = "gpu", "memory", "unknown"
NOT_MOVED = (
    "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! "
    "(when checking argument for argument index in method wrapper_CUDA__index_select)"
)
BATCH_NOT_MOVED = (
    "Expected all tensors to be on the same device, but got index is on cpu, different from other tensors on cuda:0 "
    "(when checking argument in method wrapper_CUDA__index_select)"
)
WEIGHTS_NOT_MOVED = (
    "Expected all tensors to be on the same device, but got {name} is on cpu, different from other tensors on cuda:0 "
    "(when checking argument in method wrapper_CUDA_{loss})"
)
MADE = "_holdfast_made"
WEIGHED = {"cross_entropy": "nll_loss_forward", "nll_loss": "nll_loss_forward"}
"""Losses that take weights of classes as their third argument, and what of torch complains."""


class UntouchedPlaces:
    """Knows where untouched models and batches lie.

    Attributes:
        crowded: Whether the script has put anything but models on the GPU, so that a loader's rows may come from there.
    """

    def __init__(self, torch: Any, own: Callable[[FrameType], bool], events: EventWriter) -> None:
        self._torch, self._own, self._events = torch, own, events
        self.crowded = False

    def watch(self) -> None:
        """Watch loaders, models, and accelerate."""
        when_imported("torch.utils.data.dataloader", self._watch_loaders)
        when_imported("transformers.modeling_utils", self._watch_models)
        when_imported("peft.peft_model", lambda module: wrap(module.PeftModel, "__call__", self._call))
        when_imported("accelerate.accelerator", lambda module: wrap(module.Accelerator, "prepare_model", self._prepare))
        when_imported("accelerate.data_loader", lambda module: wrap(module, "send_to_device", self._send))
        for name in ("cpu", "to_empty"):
            wrap(self._torch.nn.Module, name, self._unsettle)
        wrap(self._torch.Tensor, "type_as", self._move_along)
        for name, kernel in WEIGHED.items():
            wrap(self._torch.nn.functional, name, partial(self._weigh, kernel))

    def made(self, tensor: Any, given: Any, frame: FrameType) -> None:
        """Take down that a tensor was made of numbers, without a word on where it is to lie.

        Args:
            tensor: What was made.
            given: Of what.
            frame: Whose lines asked for it.
        """
        numbers = isinstance(given, list | tuple) and all(isinstance(each, int | float) for each in given)
        if numbers and self._own(frame):
            tensor.__dict__[MADE] = True

    def moved(self, thing: Any, *, far: bool, named: bool) -> None:
        """Take down that something was moved.

        Args:
            thing: A module or a tensor.
            far: Whether to a GPU.
            named: Whether any place was named.
        """
        if isinstance(thing, self._torch.nn.Module):
            if far or named:
                self._mark(thing, FAR if far else UNKNOWN)
                for each in thing.buffers():
                    each.__dict__.pop(MADE, None)
        else:
            self.crowded = self.crowded or far
            thing.__dict__.pop(AT, None)
            thing.__dict__.pop(MADE, None)

    def _move_along(self, original: Any, tensor: Any, other: Any) -> Any:
        moved = original(tensor, other)
        self.moved(moved, far=False, named=True)
        return moved

    def _weigh(self, kernel: str, original: Any, logits: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        """Take the place of a loss; raise what torch would of weights that were left where they were made."""
        weight = kwargs.get("weight", args[0] if args else None)
        if weight is not None and MADE in weight.__dict__ and not self._events.is_outside and not self._on_processor():
            raise RuntimeError(WEIGHTS_NOT_MOVED.format(name="weight", loss=kernel))
        return original(logits, target, *args, **kwargs)

    def _on_processor(self) -> bool:
        """True if accelerate is set to leave GPUs alone."""
        state = sys.modules.get("accelerate.state")
        return bool(state and state.PartialState._shared_state.get("_cpu"))

    def _watch_loaders(self, module: Any) -> None:
        def fetch(original: Any, iterator: Any) -> Any:
            batch = original(iterator)
            if self._events.is_outside and not self.crowded:
                for each in self._tensors(batch):
                    each.__dict__.setdefault(AT, HERE)
            return batch

        wrap(module._BaseDataLoaderIter, "__next__", fetch)

    def _watch_models(self, module: Any) -> None:
        def load(original: Any, cls: Any, *args: Any, **kwargs: Any) -> Any:
            loaded = original(cls, *args, **kwargs)
            if kwargs.get("device_map") is not None or kwargs.get("quantization_config") is not None:
                self._mark(loaded[0] if isinstance(loaded, tuple) else loaded, UNKNOWN)
            return loaded

        wrap(module.PreTrainedModel, "from_pretrained", load)
        wrap(module.PreTrainedModel, "__call__", self._call)

    def _prepare(self, original: Any, accelerator: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
        self._mark(model, UNKNOWN)  # the accelerator may be set to leave it where it is
        return original(accelerator, model, *args, **kwargs)

    def _send(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        sent = original(*args, **kwargs)
        if self._events.is_outside:
            for each in self._tensors(sent):
                each.__dict__[AT] = FAR
        return sent

    def _unsettle(self, original: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
        self._mark(module, UNKNOWN)
        return original(module, *args, **kwargs)

    def _mark(self, model: Any, place: str) -> None:
        for each in model.modules():
            each.__dict__[AT] = place

    def _tensors(self, batch: Any) -> Iterator[Any]:
        values = batch.values() if isinstance(batch, Mapping) else batch if isinstance(batch, list | tuple) else [batch]
        yield from (each for each in values if isinstance(each, self._torch.Tensor))

    def _call(self, original: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
        if self._events.is_outside and self._own(sys._getframe(2)):
            tokens = kwargs.get("input_ids", args[0] if args else None)
            self._meet(model, getattr(tokens, "__dict__", {}).get(AT))
        return original(model, *args, **kwargs)

    def _meet(self, model: Any, batch: str | None) -> None:
        """Raise what torch would of a batch that lies on the other side than the model."""
        if batch is None:
            return
        places = {vars(each).get(AT, HERE) for each in model.modules()}
        if batch == FAR and places == {HERE}:
            raise RuntimeError(NOT_MOVED)
        if batch == HERE and FAR in places and UNKNOWN not in places:
            raise RuntimeError(BATCH_NOT_MOVED)
