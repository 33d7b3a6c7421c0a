"""Generation: the memory of sampling completions with transformers, in bytes."""

from typing import Final

from holdfast.core.plan.estimate import MemoryTerm
from holdfast.engine.plan.amount import Amount, size, whole
from holdfast.engine.plan.step import FLOAT32, Rollout, TrainingStep

SAMPLING_COPIES: Final = 3
"""Logits of the last token in float32, sorted, and as probabilities. Source: `_sample` of transformers, and its top-p warper, which sorts."""


def generation_term(step: TrainingStep, rollout: Rollout) -> MemoryTerm:
    """Return the KV cache, and the logits from which the next token of each row is drawn."""
    rows, vocabulary = whole(rollout.rows, "row"), whole(step.model.vocabulary, "entry")
    drawn = rows * vocabulary * size(SAMPLING_COPIES * FLOAT32)
    return (_cache(step, rollout, rows) + drawn).term("generation", "KV cache, and logits of one token a row")


def _cache(step: TrainingStep, rollout: Rollout, rows: Amount) -> Amount:
    """Return the KV cache: two 16-bit vectors per layer and token; a sliding layer holds no more than its window."""
    shape, tokens = step.model.attention, rollout.prompt + rollout.completion
    full = whole(step.model.layers - shape.sliding, "layer") * whole(tokens, "token")
    slid = whole(shape.sliding, "sliding layer") * whole(min(tokens, shape.window or tokens), "token")
    return rows * (full + slid) * size(step.numerics.compute * shape.cached)
