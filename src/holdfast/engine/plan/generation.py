"""Generation: the memory of sampling completions with transformers, in bytes."""

from typing import Final

from holdfast.core.estimate import MemoryTerm
from holdfast.engine.plan.step import FLOAT32, Rollout, TrainingStep

SAMPLING_COPIES: Final = 3
"""Logits of the last token in float32, sorted, and as probabilities. Source: `_sample` of transformers, and its top-p warper, which sorts."""


def cache_bytes(step: TrainingStep, rollout: Rollout) -> int:
    """Return the KV cache: two 16-bit vectors per layer and token; a sliding layer holds no more than its window."""
    shape, tokens = step.model.attention, rollout.prompt + rollout.completion
    full = (step.model.layers - shape.sliding) * tokens
    slid = shape.sliding * min(tokens, shape.window or tokens)
    return step.numerics.compute * shape.cached * rollout.rows * (full + slid)


def generation_term(step: TrainingStep, rollout: Rollout) -> MemoryTerm:
    """Return the KV cache, and the logits from which the next token of each row is drawn."""
    logits = SAMPLING_COPIES * FLOAT32 * rollout.rows * step.model.vocabulary
    because = (
        f"KV cache of {rollout.rows} x {rollout.prompt + rollout.completion} tokens, logits of {rollout.rows} tokens"
    )
    return MemoryTerm("generation", cache_bytes(step, rollout) + logits, because)
