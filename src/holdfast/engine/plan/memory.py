"""The closed form: what is allocated at the peak of each phase of a training step.

A step goes through the loss, where the activations of all layers meet the logits; the backward pass, where one layer at a time
is computed again; and the optimizer, when activations are gone and every gradient is there. The largest is the peak.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from holdfast.core.plan.estimate import MemoryPhase, MemoryTerm, PhaseName, largest_phase
from holdfast.engine.plan.amount import Amount, counted, size, whole
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
    accumulated_term,
    gradients_term,
    optimizer_step_term,
    optimizer_term,
    reference_term,
    shards_weights,
    weights_term,
    whole_model_term,
    whole_units_term,
)
from holdfast.engine.plan.step import FLOAT16, HeadKind, TrainingStep

HEADS: Final[Mapping[HeadKind, str]] = {
    "logits": "full logits",
    "fused": "one tile of logits in the fused head",
    "chunked": "logits of 256 tokens at a time",
    "chunked_float32": "logits of 256 tokens at a time, and the head in float32",
    "liger": "Liger's chunks of logits, with the gradients",
    "score": "one score per text",
}
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
    norm = final_norm(step).term("activations", "the norm before the head and its output")
    forward = head_forward(step).term("logits", f"{HEADS[step.head.kind]}, forward")
    backward = head_backward(step).term("logits", f"{HEADS[step.head.kind]}, backward")
    cache = _cast_cache(step)
    return largest_phase(
        _phase("loss", (*_standing(step, "loss"), *kept, *cached, norm, head))
        for cached, head in ((cache, forward), ((), backward))
    )


def _backward_phase(step: TrainingStep) -> MemoryPhase:
    """The backward pass of the last layer, while all others are still kept; of the first, when nearly all gradients are there; or its end."""
    layers = layer_activations(step)
    beginning = head_gradient(step).term("gradients", "of the head")
    working = _working_term(step, layers)
    standing = tuple(_standing(step, "backward"))
    first = () if step.accumulation > 1 else (gradients_term(step),)
    stream = _per_token(step, _stream(step)).term("activations", "the first layer's input")
    return largest_phase(
        (
            _phase("backward", (*standing, beginning, *_kept_terms(step, layers), working)),
            _phase("backward", (*standing, *first, stream, _rerun_term(step, layers))),
            _phase("backward", (*standing, *first, stream, _embedding_term(step))),
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
    return _phase("optimizer", terms)


def _generation_phase(step: TrainingStep) -> MemoryPhase:
    assert step.rollout is not None  # noqa: S101 - the caller asked
    terms = (*_reference(step), optimizer_term(step), generation_term(step, step.rollout))
    return _phase("generation", (weights_term(step), *_gathered(step), *terms))


def _gathered(step: TrainingStep) -> tuple[MemoryTerm, ...]:
    """Return the weights that a forward pass gathers: layers, or the whole model where ZeRO-3 generates."""
    if not shards_weights(step):
        return ()
    rollout = step.rollout
    wholly = rollout and rollout.here and rollout.gathered and step.sharding.strategy == "zero3"
    return (whole_model_term(step) if wholly else whole_units_term(step, "loss"),)


def _evaluation_phase(step: TrainingStep) -> MemoryPhase:
    """Evaluation keeps nothing for a backward pass: it needs one layer, and the loss."""
    evaluated = replace(step, batch=step.eval_batch)
    layer = STREAMS * step.numerics.residual * step.model.hidden + 3 * step.numerics.mlp * mlp_width(step.model)
    terms = (
        _per_token(evaluated, layer).term("activations", "one layer's tensors"),
        head_forward(evaluated).term("logits", f"{HEADS[step.head.kind]}, of an evaluation batch"),
    )
    standing = (weights_term(step), *_gathered(step), *_reference(step), optimizer_term(step))
    return _phase("evaluation", (*standing, *terms))


def _standing(step: TrainingStep, phase: str) -> Iterator[MemoryTerm]:
    """Yield what is there throughout a step, from the second on: weights, states, and gradients of earlier micro-batches."""
    yield weights_term(step)
    if shards_weights(step):
        yield whole_units_term(step, phase)
    yield from _reference(step)
    if step.accumulation > 1:
        yield accumulated_term(step)
    yield optimizer_term(step)


def _reference(step: TrainingStep) -> tuple[MemoryTerm, ...]:
    return (reference_term(step),) if step.reference else ()


def _kept_terms(step: TrainingStep, layers: LayerActivations) -> tuple[MemoryTerm, ...]:
    """Return what all layers keep: their inputs alone with checkpoints, else all that their backward passes need."""
    count, mask = step.model.layers, _mask(step)
    if step.checkpointing:
        return ((whole(count, "checkpoint") * _per_token(step, _stream(step))).term("activations"), mask)
    kept = (whole(count, "layer") * _per_token(step, layers.kept)).term("activations")
    casts = whole(count, "layer") * layer_casts(step)
    return (kept, casts.term("activations", "16-bit copies of the weights, kept for the backward pass"), mask)


def _mask(step: TrainingStep) -> MemoryTerm:
    """Return the mask of all pairs of tokens, which the layers share: one byte a pair. Flash attention has none."""
    masks = step.masked and step.attention != "flash"
    return _per_token(step, step.attended if masks else 0).term("activations", "a mask of pairs of tokens")


def _cast_cache(step: TrainingStep) -> tuple[MemoryTerm, ...]:
    """Return the 16-bit copies of trained weights that autocast caches until the forward pass ends.

    Source: ATen/autocast_mode.cpp, `cached_cast`: of leaves in float32 that require a gradient.
    """
    if step.adapter or not step.checkpointing:
        return ()
    casts = whole(step.model.layers, "layer") * layer_casts(step)
    return (casts.term("activations", "16-bit copies of the weights, which autocast caches"),)


def _working_term(step: TrainingStep, layers: LayerActivations) -> MemoryTerm:
    """Return what the backward pass of a layer needs beside what all layers keep."""
    if step.checkpointing:
        return _rerun_term(step, layers)
    most = max(layers.backward - layers.kept, norm_backward(step) + final_norm(step).value / step.tokens)
    gradients = _per_token(step, most) + expert_gradient(step)
    return gradients.term("activations", "gradients within the last layer, or the norm after it")


def _rerun_term(step: TrainingStep, layers: LayerActivations) -> MemoryTerm:
    """Return the activations of a layer that is computed again, with the gradients within it.

    The input is the checkpoint itself, if the first norm keeps it as it is; reentrant checkpoints keep the output, too. A matrix more is the
    gradient of a trained weight, or a quantized weight in 16 bits.
    """
    as_is = "norm" in step.fused or step.numerics.residual == step.numerics.weights == 4  # noqa: PLR2004 - float32
    most = max(layers.backward, rerun_forward(step, layers.kept))
    layer = _per_token(step, most + _stream(step) * (step.reentrant - as_is))
    before = _per_token(step, layers.kept if _keeps_two_layers(step) else 0)
    rerun = layer + before + _working_matrix(step) + layer_casts(step) + expert_gradient(step)
    more = ", and the one before it" if before.value else ""
    return rerun.term("activations", f"one layer computed again{more}")


def _working_matrix(step: TrainingStep) -> Amount:
    """Return the matrix at work in a layer's backward pass: the gradient of a trained weight, or a quantized weight in 16 bits.

    A quantized weight is freed again before the gradients of its input are summed, so that it counts for what it is larger than their sum.
    """
    if not step.quantization:
        return largest_matrix(step) * size(0 if step.adapter else step.trained_bytes)
    summed = 0 if step.fused else step.numerics.mlp * mlp_width(step.model)
    return (largest_matrix(step) * size(FLOAT16)).beyond(_per_token(step, summed))


def _embedding_term(step: TrainingStep) -> MemoryTerm:
    """Return the embedding's gradient, where it is added to one that is already there: of the head that it is tied to, or of an earlier micro-batch."""
    added = step.adapter is None and (step.model.tied or step.accumulation > 1) and not shards_weights(step)
    gradient = counted(embedding_parameters(step.model), "parameters of the embedding") * size(
        step.trained_bytes if added else 0
    )
    return gradient.term("gradients", "before they are added to the head's")


def _keeps_two_layers(step: TrainingStep) -> bool:
    """Whether a second layer's activations are still there when one is computed again.

    So it was in every published run of FSDP1 with LoRA on Mistral-7B; the cause was not found (docs/estimates.md).
    """
    return step.sharding.strategy == "fsdp" and step.adapter is not None


def _stream(step: TrainingStep) -> int:
    """Return the bytes of a token in the residual stream."""
    return step.numerics.residual * step.model.hidden


def _per_token(step: TrainingStep, each: float) -> Amount:
    return size(each) * whole(step.tokens, "token")


def _phase(name: PhaseName, terms: Iterable[MemoryTerm]) -> MemoryPhase:
    return MemoryPhase(name, tuple(term for term in terms if term.bytes))
