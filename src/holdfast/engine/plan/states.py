"""Weights, gradients and optimizer states: what does not grow with the batch. In bytes, per process.

P is the number of parameters, t that of the trained ones, w the bytes of a weight, N the number of processes.
"""

from typing import Final

from holdfast.core.estimate import MemoryTerm
from holdfast.engine.plan.parameters import (
    embedding_parameters,
    head_parameters,
    layer_parameters,
    linear_parameters,
    total_parameters,
)
from holdfast.engine.plan.step import FLOAT16, FLOAT32, ShardingStrategy, TrainingStep, WeightQuantization
from holdfast.engine.units import render_count

BLOCK: Final = 64
"""Weights that share a scale in 4 bits. Source: bitsandbytes 0.50, `blocksize` of `quantize_4bit`."""
NESTED_BLOCK: Final = 256
"""Scales that share one in turn. Source: the same."""
SHARDED: Final[dict[ShardingStrategy, tuple[bool, bool, bool]]] = {
    "none": (False, False, False),
    "ddp": (False, False, False),
    "zero1": (False, False, True),
    "zero2": (False, True, True),
    "zero3": (True, True, True),
    "fsdp": (True, True, True),
}
"""Whether weights, gradients and optimizer states are split among processes."""
WHOLE_UNITS: Final = {"loss": 2, "backward": 3}
"""Layers that are whole at a time where weights are sharded: the one at work, and those fetched ahead or not yet freed.
Source: published runs of FSDP1 on two A100 (docs/estimates.md, Constants); torch's FSDP fetches one unit ahead in each direction."""
REDUCE_BUCKET: Final = 500_000_000
"""Elements of a bucket for gradients. Source: DeepSpeed's `reduce_bucket_size`; there are two."""
BUCKETS: Final = 2
MASTER_STATES: Final = 3
"""Copies in float32 that DeepSpeed keeps of parameters in 16 bits: the parameter and both moments."""


def quantized_bytes(quantization: WeightQuantization) -> float:
    """Return the bytes of a quantized weight: 0.5 and the scale of its block, or 1.

    >>> quantized_bytes(WeightQuantization(nested=False)), round(quantized_bytes(WeightQuantization(nested=True)), 3)
    (0.5625, 0.516)
    """
    if quantization.bits > 4:  # noqa: PLR2004 - 8
        return 1.0
    scale = (1 + FLOAT32 / NESTED_BLOCK) if quantization.nested else FLOAT32
    return 0.5 + scale / BLOCK


def model_bytes(step: TrainingStep) -> float:
    """Return the weights of the whole model: `wP`; of a quantized one, its linear projections in few bits and the rest in 16."""
    parameters = total_parameters(step.model)
    if step.quantization is None:
        return float(step.numerics.weights * parameters)
    linear = linear_parameters(step.model)
    return linear * quantized_bytes(step.quantization) + (parameters - linear) * step.numerics.weights


def weights_term(step: TrainingStep) -> MemoryTerm:
    """Return the weights: the model's and the adapter's, `wP / N` where they are sharded."""
    whole = model_bytes(step)
    if step.adapter is None and step.sharding.float32_shards:
        whole = float(FLOAT32 * total_parameters(step.model))
    if step.adapter is not None:
        whole += step.trained * step.trained_bytes
    each = f"in {step.quantization.bits} bits" if step.quantization else f"x {step.numerics.weights} B"
    return MemoryTerm(
        "weights",
        round(whole / _shares(step, 0)),
        f"{render_count(total_parameters(step.model))} parameters {each}{_split(step, 0)}",
    )


def whole_units_term(step: TrainingStep, phase: str) -> MemoryTerm:
    """Return the layers that are gathered from all processes to compute with, embedding and head among them."""
    ends = step.numerics.compute * (embedding_parameters(step.model) + head_parameters(step.model))
    layer = _layer_bytes(step)
    count = WHOLE_UNITS[phase]
    return MemoryTerm("weights", round(ends + count * layer), f"{count} layers, embedding and head gathered whole")


def whole_model_term(step: TrainingStep) -> MemoryTerm:
    """Return the model that DeepSpeed gathers from all processes to generate with."""
    return MemoryTerm("weights", round(model_bytes(step)), "the model gathered whole")


def gradients_term(step: TrainingStep) -> MemoryTerm:
    """Return the gradients: `wt`, in the dtype of the parameters. DDP holds them twice: once in its buckets."""
    whole = step.trained * step.trained_bytes
    found = whole / _shares(step, 1)
    reasons = f"{render_count(step.trained)} trained x {step.trained_bytes} B{_split(step, 1)}"
    if step.sharding.strategy == "ddp":
        return MemoryTerm("gradients", round(2 * found), f"{reasons}, again in the buckets of DDP")
    if step.sharding.strategy in {"zero2", "zero3"}:
        buckets = BUCKETS * FLOAT16 * min(REDUCE_BUCKET, step.trained)
        return MemoryTerm("gradients", round(found) + buckets, f"{reasons}, and two buckets of DeepSpeed")
    return MemoryTerm("gradients", round(found), reasons)


def optimizer_term(step: TrainingStep) -> MemoryTerm:
    """Return the optimizer's states; DeepSpeed keeps three copies in float32 of parameters in 16 bits."""
    kept, element = step.optimizer.states, step.optimizer.bytes or step.trained_bytes
    if step.sharding.strategy.startswith("zero") and step.trained_bytes < FLOAT32:
        kept, element = MASTER_STATES, FLOAT32
    wide = embedding_parameters(step.model) if step.optimizer.wide_embeddings and not step.adapter else 0
    size = kept * (element * (step.trained - wide) + FLOAT32 * wide)
    because = f"{kept} states x {render_count(step.trained)} x {element:g} B{_split(step, 2)}"
    return MemoryTerm(
        "optimizer", round(size / _shares(step, 2)), because + (", those of embeddings in float32" if wide else "")
    )


def optimizer_step_term(step: TrainingStep) -> MemoryTerm:
    """Return what the optimizer allocates while it runs: copies of the trained parameters' size, if it is not fused."""
    copies = step.optimizer.copies
    because = f"{copies} temporary of the trained parameters' size, for the foreach implementation"
    whole = copies * step.trained * step.trained_bytes
    return MemoryTerm("optimizer", round(whole / _shares(step, 2)), because)


def reference_term(step: TrainingStep) -> MemoryTerm:
    """Return the frozen copy of the model."""
    return MemoryTerm("reference", round(model_bytes(step) / _shares(step, 0)), "a second, frozen copy of the model")


def shards_weights(step: TrainingStep) -> bool:
    """Whether weights are split among processes."""
    return SHARDED[step.sharding.strategy][0] and step.sharding.processes > 1


def _layer_bytes(step: TrainingStep) -> float:
    if step.quantization is None:
        return float(step.numerics.compute * layer_parameters(step.model))
    linear = linear_parameters(step.model) / step.model.layers
    rest = layer_parameters(step.model) - linear
    return linear * quantized_bytes(step.quantization) + rest * step.numerics.weights


def _shares(step: TrainingStep, part: int) -> int:
    return step.sharding.processes if SHARDED[step.sharding.strategy][part] else 1


def _split(step: TrainingStep, part: int) -> str:
    shares = _shares(step, part)
    return f" / {shares} processes" if shares > 1 else ""
