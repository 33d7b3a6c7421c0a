"""The head: from the last hidden states to the loss, in bytes.

T is the number of tokens, V the vocabulary, h the width of the residual stream.
"""

from collections.abc import Mapping
from typing import Final

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


def final_norm(step: TrainingStep) -> int:
    """Return what the norm before the head keeps, and its output: `(4 + c)hT`, and `chT` more if its weights are trained."""
    hidden, numerics = step.model.hidden, step.numerics
    norm = numerics.residual if "norm" in step.fused else FLOAT32 + (0 if step.adapter else numerics.residual)
    return (norm + numerics.residual) * hidden * step.tokens


def head_forward(step: TrainingStep) -> int:
    """Return what the loss needs in the forward pass."""
    head, model = step.head, step.model
    match head.kind:
        case "logits":
            return round(head.forward * step.tokens * model.vocabulary)
        case "fused":
            return _tile(step) + (STATISTICS * FLOAT32 + step.numerics.compute * model.hidden) * step.tokens
        case "chunked" | "chunked_float32":
            return _chunks(step)
        case "liger":
            return _liger(step)
        case "score":
            return 0


def head_backward(step: TrainingStep) -> int:
    """Return what it needs in the backward pass."""
    head, model = step.head, step.model
    gradient = step.numerics.compute * model.hidden * step.tokens
    match head.kind:
        case "logits":
            return round(head.backward * step.tokens * model.vocabulary) + head_gradient(step)
        case "fused":
            casts = (FLOAT32 + step.numerics.compute + step.numerics.compute) * model.hidden * step.tokens
            float32 = 0 if step.adapter else FLOAT32 * model.vocabulary * model.hidden
            return _tile(step) + casts + float32 + head_gradient(step)
        case "chunked" | "chunked_float32":
            float32 = 0 if step.adapter else FLOAT32 * model.vocabulary * model.hidden
            return _chunks(step) + gradient + float32 + head_gradient(step)
        case "liger":
            return _liger(step)
        case "score":
            return gradient


def head_gradient(step: TrainingStep) -> int:
    """Return the gradient of the head, `wVh`; nothing where an adapter is trained."""
    return 0 if step.adapter else step.trained_bytes * step.model.vocabulary * step.model.hidden


def _tile(step: TrainingStep) -> int:
    """Return the one tile of logits that the fused head has: at most 256 MiB, however small the vocabulary is."""
    return min(step.tokens, TILE_TOKENS) * TILE_VOCABULARY * FLOAT16


def _chunks(step: TrainingStep) -> int:
    """Return the logits of a chunk, and the copy of the head that is multiplied with it: `4Vh` in float32 until trl 1.12."""
    model = step.model
    logits = CHUNK_COPIES * FLOAT32 * min(CHUNK_TOKENS, step.tokens) * model.vocabulary
    wanted = FLOAT32 if step.head.kind == "chunked_float32" else step.numerics.compute
    return logits + (wanted * model.vocabulary * model.hidden if wanted != step.numerics.weights else 0)


def _liger(step: TrainingStep) -> int:
    """Return what Liger's fused linear cross entropy holds: as many logits as hidden states, and all gradients already.

    Source: liger-kernel 0.5 ops/fused_linear_cross_entropy.py: chunks of `T / ceil(V / h)` tokens, rounded up to a power of two.
    """
    model = step.model
    parts = -(-model.vocabulary // model.hidden)
    chunk = 1 << (-(-step.tokens // parts) - 1).bit_length()
    logits = (step.numerics.compute + FLOAT32) * min(chunk, step.tokens) * model.vocabulary
    return logits + step.numerics.compute * model.hidden * step.tokens + head_gradient(step)


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
