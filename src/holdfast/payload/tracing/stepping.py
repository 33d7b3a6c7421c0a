"""One training step on fake tensors: load, forward, loss, backward, optimizer, evaluation."""

import gc
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from .building import decoder_of, make_model, make_reference
from .device import Selecting, fused_head_kernels, gpu_kernels, patched, plain_causal_mask
from .losses import loss_of, preference_loss, wrap_forward
from .optimizers import make_optimizer
from .recording import Recorder
from .request import TraceAnswer, TraceRequest

NORM = 1.0
"""`max_grad_norm` of transformers' Trainer; any other takes the same memory."""
BACK = -2
"""In place of a layer: the backward pass of the loss, from the loss to the last hidden states."""
REFERENCED = ("dpo", "kto")
ONLINE = ("grpo", "rloo")


def trace_step(request: TraceRequest) -> TraceAnswer:
    """Return every allocation of one step: its first, in which the optimizer makes its states."""
    began_s = time.perf_counter()
    recorder = Recorder()
    with ExitStack() as stack:
        stack.enter_context(patched(gpu_kernels()))
        if not request.flattened:
            stack.enter_context(patched(plain_causal_mask()))
        if request.head == "fused":
            stack.enter_context(patched(fused_head_kernels()))
        stack.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        stack.enter_context(recorder)
        stack.enter_context(Selecting(request.completion))
        step = _Step(request, recorder)
        step.run()
        counts = (sum(each.numel() for each in part) for part in (step.model.parameters(), step.trained))
        parameters, trained = counts
    return TraceAnswer(
        layers=len(decoder_of(step.model).layers),
        parameters=parameters,
        trained=trained,
        sizes=tuple(recorder.sizes),
        tags=tuple(recorder.tags),
        events=tuple(recorder.events),
        marks=tuple(recorder.marks),
        operations=recorder.operations,
        emulated=tuple(_emulated(request)),
        elapsed_s=time.perf_counter() - began_s,
    )


class _Step:
    """A step with its model."""

    def __init__(self, request: TraceRequest, recorder: Recorder) -> None:
        self.request, self.recorder = request, recorder
        recorder.learn_references()
        self.model = make_model(request)
        self.reference = None
        if request.reference:
            recorder.tag("reference")
            self.reference = make_reference(request)
        gc.collect()
        recorder.begin()
        self.trained = [each for each in self.model.parameters() if each.requires_grad]
        self.optimizer = make_optimizer(request.optimizer, self.trained, self.model.get_input_embeddings().weight)
        self._watch(self.model)
        for model in filter(None, (self.model, self.reference)):
            wrap_forward(model, request)

    def run(self) -> None:
        """Go through the step."""
        recorder = self.recorder
        for _ in range(2 if self.request.accumulation else 1):
            self._micro_batch()
        recorder.tag("optimizer")
        recorder.mark("optimizer")
        torch.nn.utils.clip_grad_norm_(self.trained, NORM)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if self.request.eval_rows:
            self._evaluate()

    def _micro_batch(self) -> None:
        recorder = self.recorder
        recorder.mark("forward")
        recorder.tag("activations")
        loss = self._loss(self.request.rows)
        recorder.mark("loss", BACK)
        loss.backward()
        recorder.tag_tensors((each.grad for each in self.trained if each.grad is not None), "gradients")

    def _evaluate(self) -> None:
        self.recorder.mark("evaluation")
        self.recorder.tag("activations")
        self.model.eval()
        with torch.no_grad():
            self._loss(self.request.eval_rows)

    def _loss(self, rows: int) -> Any:
        batch = self._batch(rows)
        if self.request.method in (*REFERENCED, *ONLINE):
            return self._scored_loss(batch)
        return loss_of(self.request)(self.model, batch)

    def _scored_loss(self, batch: dict[str, Any]) -> Any:
        """Return the loss of a method that compares log-probabilities with those of a reference."""
        scored = self.model(**batch, use_cache=False, fused_lm_head=True).log_probs.sum(1)
        reference = scored.detach()
        if self.request.scores_reference:
            phase = self.recorder.phase
            self.recorder.mark("reference")
            with torch.no_grad(), self._without_adapter():
                model = self.reference if self.reference is not None else self.model
                reference = model(**batch, use_cache=False, fused_lm_head=True).log_probs.sum(1)
            self.recorder.mark(phase)
        return preference_loss(scored, reference, paired=self.request.method == "dpo")

    def _without_adapter(self) -> AbstractContextManager[Any]:
        shares = self.request.adapter and self.reference is None
        found: AbstractContextManager[Any] = self.model.disable_adapter() if shares else nullcontext()
        return found

    def _batch(self, rows: int) -> dict[str, Any]:
        request = self.request
        shape = (1, rows * request.length) if request.flattened else (rows, request.length)
        ids = torch.zeros(shape, dtype=torch.long)
        batch = {"input_ids": ids, "labels": ids.clone()}
        if request.masked and request.flattened:
            batch["position_ids"] = torch.zeros(shape, dtype=torch.long)
        elif request.masked:
            batch["attention_mask"] = torch.ones(shape, dtype=torch.long)
        return batch

    def _watch(self, model: Any) -> None:
        """Mark where each layer begins, forward and backward."""
        decoder = decoder_of(model)
        for place, layer in enumerate(decoder.layers):
            layer.register_forward_pre_hook(self._entering(place), with_kwargs=True)
        decoder.register_forward_hook(self._leaving(len(decoder.layers)))

    def _entering(self, place: int) -> Any:
        def enter(_: Any, args: Any, kwargs: Any) -> None:
            if self.recorder.phase in {"forward", "reference", "evaluation"}:
                self.recorder.mark(self.recorder.phase, place)
                hidden = args[0] if args else kwargs["hidden_states"]
                self._mark_gradient(hidden, place - 1)

        return enter

    def _leaving(self, layers: int) -> Any:
        def leave(_: Any, __: Any, outputs: Any) -> None:
            if self.recorder.phase == "forward":
                self._mark_gradient(outputs.last_hidden_state, layers - 1)
                self.recorder.mark("loss")
                self.recorder.tag("logits")

        return leave

    def _mark_gradient(self, hidden: Any, layer: int) -> None:
        """Mark where the gradient of a layer's output is there, and its backward pass begins."""

        def reached(_: Any) -> None:
            self.recorder.mark("backward", layer)
            self.recorder.tag("activations")

        if hidden.requires_grad:
            hidden.register_hook(reached)


def _emulated(request: TraceRequest) -> Iterator[str]:
    """Yield what stood in for code that runs on GPUs alone."""
    if request.attention != "eager":
        yield "kernels of attention"
    if request.quantization:
        yield "products of bitsandbytes"
    if request.head == "fused":
        yield "Triton kernels of TRL's head"
    if request.head in {"liger", "chunked", "chunked_float32"} or request.overwrites:
        yield "the loss"
    if request.fused:
        yield "fused kernels"
