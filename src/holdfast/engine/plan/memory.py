"""The closed form: what is allocated at the peak of each phase of a training step.

A step goes through the loss, where the activations of all layers meet the logits; the backward pass, where one layer at a time
is computed again; and the optimizer, when activations are gone and every gradient is there. The largest is the peak.
"""

from collections.abc import Iterator
from dataclasses import replace

from holdfast.core.estimate import MemoryPhase, MemoryTerm, largest_phase
from holdfast.engine.plan.generation import generation_term
from holdfast.engine.plan.head import final_norm, head_backward, head_forward, head_gradient
from holdfast.engine.plan.layer import (
    LayerActivations,
    expert_gradient,
    largest_matrix,
    layer_activations,
    layer_casts,
    norm_backward,
    rerun_forward,
)
from holdfast.engine.plan.parameters import embedding_parameters, mlp_width
from holdfast.engine.plan.states import (
    gradients_term,
    optimizer_step_term,
    optimizer_term,
    reference_term,
    shards_weights,
    weights_term,
    whole_model_term,
    whole_units_term,
)
from holdfast.engine.plan.step import FLOAT16, TrainingStep

STREAMS = 4
"""Tensors of the stream that a layer holds at once where nothing is kept: input, residual, normalized, output."""


def memory_phases(step: TrainingStep) -> tuple[MemoryPhase, ...]:
    """Return every phase at its peak, in the order in which a step goes through them."""
    generation = [_generation_phase(step)] if step.rollout and step.rollout.here else []
    evaluation = [_evaluation_phase(step)] if step.eval_batch else []
    return (*generation, _loss_phase(step), _backward_phase(step), _optimizer_phase(step), *evaluation)


def _loss_phase(step: TrainingStep) -> MemoryPhase:
    """The end of the forward pass, or the beginning of the backward pass: whichever needs more for the loss."""
    layers = layer_activations(step)
    kept = _kept_terms(step, layers)
    norm = MemoryTerm("activations", final_norm(step), "the norm before the head and its output")
    forward = MemoryTerm("logits", head_forward(step), f"{_head(step)}, forward")
    backward = MemoryTerm("logits", head_backward(step), f"{_head(step)}, backward")
    cache = _cast_cache(step)
    return largest_phase(
        MemoryPhase("loss", (*_standing(step, "loss"), *kept, *cached, norm, head))
        for cached, head in ((cache, forward), ((), backward))
    )


def _backward_phase(step: TrainingStep) -> MemoryPhase:
    """The backward pass of the last layer, while all others are still kept; of the first, when nearly all gradients are there; or its end."""
    layers = layer_activations(step)
    beginning = MemoryTerm("gradients", head_gradient(step), "the gradient of the head")
    working = _working_term(step, layers)
    standing = tuple(_standing(step, "backward"))
    first = () if step.accumulation > 1 else (gradients_term(step),)
    stream = MemoryTerm(
        "activations", step.numerics.residual * step.model.hidden * step.tokens, "the first layer's input"
    )
    return largest_phase(
        (
            MemoryPhase("backward", (*standing, beginning, *_kept_terms(step, layers), working)),
            MemoryPhase("backward", (*standing, *first, stream, _rerun_term(step, layers))),
            MemoryPhase("backward", (*standing, *first, stream, _embedding_term(step))),
        )
    )


def _optimizer_phase(step: TrainingStep) -> MemoryPhase:
    terms = (
        weights_term(step),
        *_reference(step),
        gradients_term(step),
        optimizer_term(step),
        optimizer_step_term(step),
    )
    return MemoryPhase("optimizer", terms)


def _generation_phase(step: TrainingStep) -> MemoryPhase:
    assert step.rollout is not None  # noqa: S101 - the caller asked
    terms = (*_reference(step), optimizer_term(step), generation_term(step, step.rollout))
    return MemoryPhase("generation", (weights_term(step), *_gathered(step), *terms))


def _gathered(step: TrainingStep) -> tuple[MemoryTerm, ...]:
    """Return the weights that a forward pass gathers: layers, or the whole model where ZeRO-3 generates."""
    if not shards_weights(step):
        return ()
    whole = step.rollout and step.rollout.here and step.rollout.gathered and step.sharding.strategy == "zero3"
    return (whole_model_term(step),) if whole else (whole_units_term(step, "loss"),)


def _evaluation_phase(step: TrainingStep) -> MemoryPhase:
    """Evaluation keeps nothing for a backward pass: it needs one layer, and the loss."""
    evaluated = replace(step, batch=step.eval_batch)
    layer = STREAMS * step.numerics.residual * step.model.hidden + 3 * step.numerics.mlp * mlp_width(step.model)
    terms = (
        MemoryTerm("activations", layer * evaluated.tokens, "one layer's tensors"),
        MemoryTerm("logits", head_forward(evaluated), f"{_head(step)}, of an evaluation batch"),
    )
    standing = (weights_term(step), *_gathered(step), *_reference(step), optimizer_term(step))
    return MemoryPhase("evaluation", (*standing, *terms))


def _standing(step: TrainingStep, phase: str) -> Iterator[MemoryTerm]:
    """Yield what is there throughout a step, from the second on: weights, states, and gradients of earlier micro-batches."""
    yield weights_term(step)
    if shards_weights(step):
        yield whole_units_term(step, phase)
    yield from _reference(step)
    if step.accumulation > 1:
        yield gradients_term(step)
    yield optimizer_term(step)


def _reference(step: TrainingStep) -> tuple[MemoryTerm, ...]:
    return (reference_term(step),) if step.reference else ()


def _kept_terms(step: TrainingStep, layers: LayerActivations) -> tuple[MemoryTerm, ...]:
    """Return what all layers keep: their inputs alone with checkpoints, else all that their backward passes need."""
    model, tokens = step.model, step.tokens
    mask = _mask(step)
    if step.checkpointing:
        each = step.numerics.residual * model.hidden
        because = f"{model.layers} checkpoints x {each} B x {tokens} tokens"
        return (MemoryTerm("activations", model.layers * each * tokens, because), *mask)
    because = f"{model.layers} layers x {layers.kept:.0f} B x {tokens} tokens"
    kept = MemoryTerm("activations", round(model.layers * layers.kept * tokens), because)
    casts = MemoryTerm(
        "activations", model.layers * layer_casts(step), "16-bit copies of the weights, kept for the backward pass"
    )
    return (kept, *([casts] if casts.bytes else []), *mask)


def _mask(step: TrainingStep) -> tuple[MemoryTerm, ...]:
    """Return the mask of all pairs of tokens, which the layers share: one byte a pair. Flash attention has none."""
    if not step.masked or step.attention == "flash":
        return ()
    because = f"a mask of {step.attended} x {step.attended} tokens"
    return (MemoryTerm("activations", step.tokens * step.attended, because),)


def _cast_cache(step: TrainingStep) -> tuple[MemoryTerm, ...]:
    """Return the 16-bit copies of trained weights that autocast caches until the forward pass ends.

    Source: ATen/autocast_mode.cpp, `cached_cast`: of leaves in float32 that require a gradient.
    """
    casts = step.model.layers * layer_casts(step)
    if not casts or step.adapter or not step.checkpointing:
        return ()
    return (MemoryTerm("activations", casts, "16-bit copies of the weights, which autocast caches"),)


def _working_term(step: TrainingStep, layers: LayerActivations) -> MemoryTerm:
    """Return what the backward pass of a layer needs beside what all layers keep."""
    if step.checkpointing:
        return _rerun_term(step, layers)
    most = max(layers.backward - layers.kept, norm_backward(step) + final_norm(step) / step.tokens)
    return MemoryTerm(
        "activations",
        round(most * step.tokens) + expert_gradient(step),
        "gradients within the last layer, or the norm after it",
    )


def _rerun_term(step: TrainingStep, layers: LayerActivations) -> MemoryTerm:
    """Return the activations of a layer that is computed again, with the gradients within it.

    The input is the checkpoint itself, if the first norm keeps it as it is; reentrant checkpoints keep the output, too. A matrix more is the
    gradient of a trained weight, or a quantized weight in 16 bits.
    """
    stream = step.numerics.residual * step.model.hidden
    as_is = "norm" in step.fused or step.numerics.residual == step.numerics.weights == 4  # noqa: PLR2004 - float32
    most = max(layers.backward, rerun_forward(step, layers.kept))
    per_token = most - stream * as_is + stream * step.reentrant
    copies = [] if not _keeps_two_layers(step) else [layers.kept]
    fixed = _working_matrix(step) + layer_casts(step) + expert_gradient(step)
    whole = (per_token + sum(copies)) * step.tokens + fixed
    because = f"one layer computed again, {per_token:.0f} B x {step.tokens} tokens"
    return MemoryTerm("activations", round(whole), because + (", and the one before it" if copies else ""))


def _working_matrix(step: TrainingStep) -> int:
    """Return the bytes of the matrix at work in a layer's backward pass: the gradient of a trained weight, or a quantized weight in 16 bits.

    A quantized weight is freed again before the gradients of its input are summed, so that it counts for what it is larger than their sum.
    """
    if not step.quantization:
        return 0 if step.adapter else step.trained_bytes * largest_matrix(step)
    summed = 0 if step.fused else step.numerics.mlp * mlp_width(step.model) * step.tokens
    return max(0, FLOAT16 * largest_matrix(step) - summed)


def _embedding_term(step: TrainingStep) -> MemoryTerm:
    """Return the embedding's gradient, where it is added to one that is already there: of the head that it is tied to, or of an earlier micro-batch."""
    added = step.adapter is None and (step.model.tied or step.accumulation > 1)
    size = step.trained_bytes * embedding_parameters(step.model) if added and not shards_weights(step) else 0
    return MemoryTerm("gradients", size, "the embedding's, before it is added to the head's")


def _keeps_two_layers(step: TrainingStep) -> bool:
    """Whether a second layer's activations are still there when one is computed again.

    So it was in every published run of FSDP1 with LoRA on Mistral-7B; the cause was not found (docs/estimates.md).
    """
    return step.sharding.strategy == "fsdp" and step.adapter is not None


def _head(step: TrainingStep) -> str:
    tokens, vocabulary = step.tokens, step.model.vocabulary
    return {
        "logits": f"full logits, {tokens} tokens x {vocabulary} entries",
        "fused": "one tile of logits in the fused head",
        "chunked": "logits of 256 tokens at a time",
        "chunked_float32": "logits of 256 tokens at a time, and the head in float32",
        "liger": "Liger's chunks of logits, with the gradients",
        "score": "one score per text",
    }[step.head.kind]
