"""The head: from the last hidden states to the loss, in bytes.

T is the number of tokens, V the vocabulary, h the width of the residual stream.
"""

from collections.abc import Mapping
from typing import Final

from holdfast.engine.plan.amount import NOTHING, Amount, counted, size, whole
from holdfast.engine.plan.step import FLOAT16, FLOAT32, LogitsShift, LossHead, TrainingStep

TILE_TOKENS: Final = 4096
TILE_VOCABULARY: Final = 32768
"""Tile of the fused head. Source: trl 1.16 kernels/chunked_logprob.py TOKEN_CHUNK_SIZE, trainer/utils.py _CHUNKED_LOGPROB_CHUNK_SIZE."""
STATISTICS: Final = 7
"""Numbers in float32 that it keeps per token. Source: the same."""
CHUNK_TOKENS: Final = 256
"""Tokens of a chunk of `chunked_nll`. Source: trl 1.4 to 1.14 sft_trainer.py _CHUNKED_LM_HEAD_CHUNK_SIZE."""
SHIFTS: Final[Mapping[float, LogitsShift]] = {12.0: "model", 14.0: "copy"}
"""Where logits are shifted, by the bytes per token and entry that the release needs; all others shift labels."""
CHUNK_COPIES: Final = 3
"""Logits of a chunk in float32, their log-softmax and its gradient."""


def final_norm(step: TrainingStep) -> Amount:
    """Return what the norm before the head keeps, and its output: `(4 + c)hT`, and `chT` more if its weights are trained."""
    numerics = step.numerics
    norm = numerics.residual if "norm" in step.fused else FLOAT32 + (0 if step.adapter else numerics.residual)
    return size((norm + numerics.residual) * step.model.hidden) * _tokens(step)


def head_forward(step: TrainingStep) -> Amount:
    """Return what the loss needs in the forward pass."""
    match step.head.kind:
        case "logits":
            return _logits(step, step.head.forward)
        case "fused":
            return _tile(step) + size(STATISTICS * FLOAT32 + step.numerics.compute * step.model.hidden) * _tokens(step)
        case "chunked" | "chunked_float32":
            return _chunks(step)
        case "liger":
            return _liger(step)
        case "score":
            return NOTHING


def head_backward(step: TrainingStep) -> Amount:
    """Return what it needs in the backward pass."""
    compute, hidden = step.numerics.compute, step.model.hidden
    match step.head.kind:
        case "logits":
            return _logits(step, step.head.backward) + head_gradient(step)
        case "fused":
            casts = size((FLOAT32 + compute + compute) * hidden) * _tokens(step)
            return _tile(step) + casts + head_gradient(step, FLOAT32)
        case "chunked" | "chunked_float32":
            return _chunks(step) + size(compute * hidden) * _tokens(step) + head_gradient(step, FLOAT32)
        case "liger":
            return _liger(step)
        case "score":
            return size(compute * hidden) * _tokens(step)


def head_gradient(step: TrainingStep, more: int = 0) -> Amount:
    """Return the gradient of the head, `wVh`; nothing where an adapter is trained.

    Args:
        step: The step.
        more: Bytes of an element of another gradient, in which it is summed.
    """
    return NOTHING if step.adapter else _of_head(step) * size(step.trained_bytes + more)


def _logits(step: TrainingStep, each: float) -> Amount:
    return size(each) * _tokens(step) * whole(step.model.vocabulary, "entry")


def _tile(step: TrainingStep) -> Amount:
    """Return the one tile of logits that the fused head has: at most 256 MiB, however small the vocabulary is."""
    tokens = whole(min(step.tokens, TILE_TOKENS), "token")
    return tokens * whole(TILE_VOCABULARY, "entry") * size(FLOAT16)


def _chunks(step: TrainingStep) -> Amount:
    """Return the logits of a chunk, and the copy of the head that is multiplied with it: `4Vh` in float32 until trl 1.12."""
    tokens = whole(min(CHUNK_TOKENS, step.tokens), "token")
    logits = tokens * whole(step.model.vocabulary, "entry") * size(CHUNK_COPIES * FLOAT32)
    wanted = FLOAT32 if step.head.kind == "chunked_float32" else step.numerics.compute
    return logits + (_of_head(step) * size(wanted) if wanted != step.numerics.weights else NOTHING)


def _liger(step: TrainingStep) -> Amount:
    """Return what Liger's fused linear cross entropy holds: as many logits as hidden states, and all gradients already.

    Source: liger-kernel 0.5 ops/fused_linear_cross_entropy.py: chunks of `T / ceil(V / h)` tokens, rounded up to a power of two.
    """
    model, compute = step.model, step.numerics.compute
    parts = -(-model.vocabulary // model.hidden)
    chunk = whole(min(1 << (-(-step.tokens // parts) - 1).bit_length(), step.tokens), "token")
    logits = chunk * whole(model.vocabulary, "entry") * size(compute + FLOAT32)
    return logits + size(compute * model.hidden) * _tokens(step) + head_gradient(step)


def _tokens(step: TrainingStep) -> Amount:
    return whole(step.tokens, "token")


def _of_head(step: TrainingStep) -> Amount:
    return counted(step.model.vocabulary * step.model.hidden, "parameters of the head")


def logits_head(forward: float, copies: float, *, autocast: bool, batch: int) -> LossHead:
    """Return the head of a loss over full logits.

    Args:
        forward: Bytes per token and vocabulary entry that transformers needs; 12 in the backward pass, for the log-softmax, its
            gradient and that of the logits in float32.
        copies: Shifted copies that the trainer makes of the logits for its metrics.
        autocast: Whether accelerate gives the logits back in float32.
        batch: Rows; shifting a single one copies nothing.
    """
    shifted = FLOAT32 if forward in SHIFTS and batch == 1 else 0
    element = FLOAT32 if autocast else FLOAT16
    metrics = FLOAT32 + element * (1 + copies) if copies else 0.0
    shift: LogitsShift = SHIFTS.get(forward, "labels")
    return LossHead(
        kind="logits", forward=max(forward - shifted, metrics), backward=12.0, shift=shift, metric_copies=copies > 0
    )
