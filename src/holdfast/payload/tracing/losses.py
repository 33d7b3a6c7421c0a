"""The loss of a step, from the model to one number, as each release of the trainers gets it."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from .building import UntraceableError, decoder_of
from .kernels import LigerLoss, OverwritingCrossEntropy
from .request import TraceRequest

CHUNK_TOKENS = 256
"""Tokens of a chunk of `chunked_nll`. Source: trl 1.4 to 1.14 sft_trainer.py _CHUNKED_LM_HEAD_CHUNK_SIZE."""
IGNORED = -100
BETA = 0.1

Loss = Callable[[Any, dict[str, Any]], Any]
"""Returns the loss of a model for a micro-batch."""


def wrap_forward(model: Any, request: TraceRequest) -> None:
    """Have a model compute its loss as its release does, under autocast, and give back float32, as accelerate has it."""
    if request.head == "logits" and request.shift != "labels":
        model.forward = _with_loss(model.forward, request)
    if not request.autocast:
        return
    from accelerate.utils.operations import convert_outputs_to_fp32  # type: ignore[import-untyped]  # accelerate has no types

    forward = model.forward

    def cast(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast("cpu", dtype=getattr(torch, request.autocast)):
            return forward(*args, **kwargs)

    model.forward = convert_outputs_to_fp32(cast)


def _with_loss(forward: Any, request: TraceRequest) -> Any:
    """Return a forward pass with the loss of transformers before 4.49: over a shifted copy of logits in float32."""

    def run(*args: Any, labels: Any = None, **kwargs: Any) -> Any:
        outputs = forward(*args, **kwargs)
        if request.shift == "model":
            outputs.logits = outputs.logits.float()
        outputs.loss = _shifted_loss(outputs.logits.float(), labels, overwrites=request.overwrites)
        return outputs

    return run


def loss_of(request: TraceRequest) -> Loss:
    """Return how a request gets its loss."""
    if request.method == "reward":
        return _score_loss
    match request.head:
        case "fused":
            return _fused_loss
        case "logits":
            return lambda model, batch: _logits_loss(model, batch, request)
        case "liger":
            return lambda model, batch: _liger_loss(model, batch, request)
        case "chunked" | "chunked_float32":
            return lambda model, batch: _chunked_loss(model, batch, request)
        case _:
            raise UntraceableError(f"a head that is `{request.head}` is not traced")


def _fused_loss(model: Any, batch: dict[str, Any]) -> Any:
    """Return what SFTTrainer of trl 1.15 and 1.16 computes: no logits, and metrics from the same pass."""
    outputs = model(**batch, use_cache=False, fused_lm_head=True)
    loss = -outputs.log_probs.sum() / outputs.label_mask.sum().clamp(min=1)
    if outputs.entropy is not None:
        outputs.entropy.detach().sum()
    return loss


def _logits_loss(model: Any, batch: dict[str, Any], request: TraceRequest) -> Any:
    """Return the model's own loss over full logits, with the trainer's metrics."""
    outputs = model(**batch, use_cache=False)
    if request.metric_copies:
        with torch.no_grad():
            (outputs.logits[..., :-1, :].contiguous().argmax(-1) == batch["labels"][..., 1:]).sum()
    return outputs.loss


def _shifted_loss(logits: Any, labels: Any, *, overwrites: bool) -> Any:
    shifted = logits[..., :-1, :].contiguous()
    if overwrites:
        return OverwritingCrossEntropy.apply(shifted)
    return functional.cross_entropy(
        shifted.view(-1, shifted.shape[-1]), labels[..., 1:].reshape(-1), ignore_index=IGNORED
    )


def _last_hidden(model: Any, batch: dict[str, Any], dtype: str) -> Any:
    inputs = {name: value for name, value in batch.items() if name != "labels"}
    with torch.autocast("cpu", dtype=getattr(torch, dtype)) if dtype else nullcontext():
        hidden = decoder_of(model)(**inputs, use_cache=False).last_hidden_state
    return hidden[:, :-1].reshape(-1, hidden.shape[-1])


def _liger_loss(model: Any, batch: dict[str, Any], request: TraceRequest) -> Any:
    return LigerLoss.apply(_last_hidden(model, batch, request.autocast), model.get_output_embeddings().weight)


def _chunked_loss(model: Any, batch: dict[str, Any], request: TraceRequest) -> Any:
    """Return `chunked_nll`: logits of some tokens at a time, computed again in the backward pass."""
    wide = request.head == "chunked_float32"
    hidden = _last_hidden(model, batch, request.autocast)
    weight = model.get_output_embeddings().weight
    labels = batch["labels"][:, 1:].reshape(-1)
    head = weight.float() if wide else weight.to(hidden.dtype)

    def chunk_loss(part: Any, wanted: Any) -> Any:
        logits = part.float() @ head.t() if wide else (part @ head.t()).float()
        return functional.cross_entropy(logits, wanted, reduction="sum", ignore_index=IGNORED)

    total = torch.zeros(())
    for start in range(0, hidden.shape[0], CHUNK_TOKENS):
        part = slice(start, start + CHUNK_TOKENS)
        total = total + checkpoint(chunk_loss, hidden[part], labels[part], use_reentrant=False)
    return total / labels.numel()


def _score_loss(model: Any, batch: dict[str, Any]) -> Any:
    """Return what RewardTrainer computes: one score for each text, and the difference of those of a pair."""
    inputs = {name: value for name, value in batch.items() if name != "labels"}
    chosen, rejected = model(**inputs, use_cache=False).logits.squeeze(-1).chunk(2)
    return -functional.logsigmoid(chosen - rejected).mean()


def preference_loss(log_probs: Any, reference: Any, *, paired: bool) -> Any:
    """Return the loss of DPO, or of KTO, from the sums of log-probabilities of texts."""
    ratios = log_probs - reference
    if not paired:
        return (1 - functional.sigmoid(BETA * ratios)).mean()
    chosen, rejected = ratios.chunk(2)
    return -functional.logsigmoid(BETA * (chosen - rejected)).mean()
