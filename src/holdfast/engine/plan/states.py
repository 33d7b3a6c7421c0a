"""Weights, gradients and optimizer states: what does not grow with the batch. In bytes, per process.

P is the number of parameters, t that of the trained ones, w the bytes of a weight, N the number of processes.
"""

from typing import Final

from holdfast.core.plan.estimate import MemoryTerm
from holdfast.engine.plan.amount import NOTHING, Amount, counted, size, whole
from holdfast.engine.plan.parameters import (
    embedding_parameters,
    head_parameters,
    layer_parameters,
    linear_parameters,
    total_parameters,
)
from holdfast.engine.plan.step import FLOAT16, FLOAT32, ShardingStrategy, TrainingStep, WeightQuantization

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


def model_amount(step: TrainingStep) -> Amount:
    """Return the weights of the whole model: `wP`; of a quantized one, its linear projections in few bits and the rest in 16."""
    return _weights_amount(step, total_parameters(step.model), linear_parameters(step.model), step.numerics.weights)


def model_bytes(step: TrainingStep) -> float:
    """Return the bytes of the whole model's weights."""
    return model_amount(step).value


def weights_term(step: TrainingStep) -> MemoryTerm:
    """Return the weights: the model's and the adapter's, `wP / N` where they are sharded."""
    if step.adapter is not None:
        held = model_amount(step) + counted(step.trained, "parameters of the adapter") * size(step.trained_bytes)
    else:
        held = counted(total_parameters(step.model), "parameters") * size(step.trained_bytes)
    return (held / _shares(step, 0)).term("weights")


def whole_units_term(step: TrainingStep, phase: str) -> MemoryTerm:
    """Return the layers that are gathered from all processes to compute with, embedding and head among them."""
    ends = embedding_parameters(step.model) + head_parameters(step.model)
    linear = round(linear_parameters(step.model) / step.model.layers)
    each = step.numerics.weights if step.quantization else step.numerics.compute
    layers = whole(WHOLE_UNITS[phase], "layer") * _weights_amount(step, layer_parameters(step.model), linear, each)
    gathered = layers + counted(ends, "parameters of embedding and head") * size(step.numerics.compute)
    return gathered.term("weights", "gathered whole")


def whole_model_term(step: TrainingStep) -> MemoryTerm:
    """Return the model that DeepSpeed gathers from all processes to generate with."""
    return model_amount(step).term("weights", "the model gathered whole")


def gradients_term(step: TrainingStep) -> MemoryTerm:
    """Return the gradients: `wt`, in the dtype of the parameters. DDP holds them twice: once in its buckets."""
    found = counted(step.trained, "trained parameters") * size(step.trained_bytes) / _shares(step, 1)
    if step.sharding.strategy == "ddp":
        return (whole(2, "copy") * found).term("gradients", "of the parameters, and in the buckets of DDP")
    if step.sharding.strategy in {"zero2", "zero3"}:
        bucket = counted(min(REDUCE_BUCKET, step.trained), "elements") * size(FLOAT16)
        return (found + whole(BUCKETS, "DeepSpeed bucket") * bucket).term("gradients")
    return found.term("gradients")


def accumulated_term(step: TrainingStep) -> MemoryTerm:
    """Return the gradients of earlier micro-batches: FSDP holds them whole, in 16 bits, until the last one.

    Source: transformers 5.23 trainer.py and accelerate 1.15 `no_sync`; torch 2.13 _fsdp_param_group.py `post_backward` without `reduce_grads`.
    """
    if step.sharding.strategy != "fsdp" or step.sharding.processes == 1:
        return gradients_term(step)
    held = counted(step.trained, "trained parameters") * size(step.numerics.compute)
    return held.term("gradients", "of earlier micro-batches, whole until the last")


def state_bytes(step: TrainingStep) -> float:
    """Return the bytes of an element of the optimizer's states; DeepSpeed keeps those of parameters in 16 bits in float32."""
    if step.sharding.strategy.startswith("zero") and step.trained_bytes < FLOAT32:
        return FLOAT32
    return step.optimizer.bytes or step.trained_bytes


def optimizer_term(step: TrainingStep) -> MemoryTerm:
    """Return the optimizer's states; DeepSpeed keeps three copies in float32 of parameters in 16 bits."""
    kept, element = step.optimizer.states, state_bytes(step)
    if step.sharding.strategy.startswith("zero") and step.trained_bytes < FLOAT32:
        kept = MASTER_STATES
    wide = embedding_parameters(step.model) if step.optimizer.wide_embeddings and not step.adapter else 0
    each = counted(step.trained - wide, "trained parameters") * size(element)
    each += counted(wide, "parameters of the embedding") * size(FLOAT32)
    return (whole(kept, "state") * each / _shares(step, 2)).term("optimizer")


def optimizer_step_term(step: TrainingStep) -> MemoryTerm:
    """Return what the optimizer allocates while it runs: copies of the trained parameters' size, if it is not fused."""
    copies = (
        counted(step.trained, "trained parameters") * size(step.trained_bytes) if step.optimizer.copies else NOTHING
    )
    taken = whole(step.optimizer.copies, "copy") * copies / _shares(step, 2)
    return taken.term("optimizer", "temporary, for the foreach implementation")


def reference_term(step: TrainingStep) -> MemoryTerm:
    """Return the frozen copy of the model."""
    return (model_amount(step) / _shares(step, 0)).term("reference", "a second, frozen copy of the model")


def shards_weights(step: TrainingStep) -> bool:
    """Whether weights are split among processes."""
    return SHARDED[step.sharding.strategy][0] and step.sharding.processes > 1


def _weights_amount(step: TrainingStep, parameters: int, linear: int, each: int) -> Amount:
    """Return the weights of some parameters; of a quantized model, the linear ones among them in few bits."""
    if step.quantization is None:
        return counted(parameters, "parameters") * size(each)
    quantized = counted(linear, "quantized parameters") * size(quantized_bytes(step.quantization))
    return quantized + counted(parameters - linear, "other parameters") * size(each)


def _shares(step: TrainingStep, part: int) -> Amount:
    return whole(step.sharding.processes if SHARDED[step.sharding.strategy][part] else 1, "process")
