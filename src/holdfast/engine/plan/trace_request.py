"""The request for a trace of a training step."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from holdfast.catalog.optimizers import OptimizerMemory
from holdfast.core.check.finding import MissingFactError
from holdfast.engine.plan.architecture import Architecture
from holdfast.engine.plan.architecture_reading import PATTERN
from holdfast.engine.plan.parameters import FUSED
from holdfast.engine.plan.step import FLOAT32, TrainingStep, rows_each
from holdfast.payload.tracing.request import (
    AdapterRequest,
    OptimizerRequest,
    QuantizationRequest,
    TraceRequest,
    WeightDtype,
)

TRACED: Final = "trace"
DROPOUT: Final = 0.1
"""Of adapters that have any; how much takes the same memory."""
TORCH_OPTIMIZERS: Final = {(2, 0): "adamw_torch_fused", (2, 1): "adamw_torch", (0, 0): "sgd"}
"""torch's own, by the states that they keep in the dtype of the parameters, and the copies that a step makes."""
LEAST_LAYERS: Final = 2
"""The first layer and the last: no fewer can stand for a deeper model."""


def trace_depths(config: Mapping[str, Any], model: Architecture) -> tuple[Sequence[int], int]:
    """Return the numbers of layers to trace, and the period after which kinds of layers repeat.

    Two few-layered models stand for a deep one; one that is no deeper than these is traced whole.
    """
    period = _period(config, model)
    before = model.experts.dense_layers if model.experts else 0
    less = before + max(LEAST_LAYERS, period)
    more = less + period
    return ((less, more), period) if more < model.layers else ((model.layers,), period)


def _period(config: Mapping[str, Any], model: Architecture) -> int:
    text = config.get("text_config")
    decoder = text if isinstance(text, Mapping) else config
    kinds = decoder.get("layer_types")
    if isinstance(kinds, list) and kinds:
        repeats = (count for count in range(1, len(kinds)) if kinds[count:] == kinds[:-count])
        return next(repeats, len(kinds))
    pattern = decoder.get(PATTERN) or decoder.get(f"_{PATTERN}") or model.traits.full_every
    return pattern if isinstance(pattern, int) and pattern > 0 else 1


def trace_request(step: TrainingStep, config: Mapping[str, Any], layers: int) -> TraceRequest:
    """Return the request for a trace of a step.

    Args:
        step: The step.
        config: `config.json` of its model.
        layers: Layers to build.

    Raises:
        MissingFactError: Such a step is not traced.
    """
    if step.sharding.processes > 1:
        raise MissingFactError(TRACED, f"a model that is shared by {step.sharding.strategy} is not traced")
    if step.quantization and step.quantization.bits > 4:  # noqa: PLR2004 - 8
        raise MissingFactError(TRACED, "products of weights in 8 bits are not traced")
    if step.adapter and step.adapter.experts:
        raise MissingFactError(TRACED, "adapters on experts are not traced")
    numerics = step.numerics
    each = rows_each(step.method)
    return TraceRequest(
        config=dict(config),
        layers=layers,
        method=step.method.value,
        rows=step.rows,
        length=step.length,
        eval_rows=step.eval_batch * each,
        completion=step.rollout.completion if step.rollout else 0,
        accumulation=step.accumulation > 1,
        dtype=_dtype(numerics.weights),
        autocast="bfloat16" if numerics.autocast else "",
        head=step.head.kind,
        shift=step.head.shift,
        overwrites=step.head.overwrites,
        metric_copies=step.head.metric_copies,
        checkpointing=step.checkpointing,
        reentrant=step.reentrant,
        attention=step.attention,
        masked=step.masked,
        flattened=step.flattened,
        fused=tuple(sorted(step.fused)),
        adapter=_adapter(step),
        quantization=_quantization(step),
        optimizer=_optimizer(step.optimizer),
        reference=step.reference,
        scores_reference=step.scores_reference,
    )


def _dtype(size: int) -> WeightDtype:
    return "float32" if size == FLOAT32 else "bfloat16"


def _adapter(step: TrainingStep) -> AdapterRequest | None:
    adapter = step.adapter
    if adapter is None:
        return None
    together = {name for name, parts in FUSED.items() if adapter.targets.issuperset(parts)}
    return AdapterRequest(
        rank=adapter.rank,
        targets=tuple(sorted(adapter.targets | together)),
        dtype=_dtype(adapter.bytes),
        dropout=DROPOUT if adapter.dropout else 0.0,
    )


def _quantization(step: TrainingStep) -> QuantizationRequest | None:
    if step.quantization is None:
        return None
    return QuantizationRequest(nested=step.quantization.nested, float32_norms=step.numerics.residual == FLOAT32)


def _optimizer(memory: OptimizerMemory) -> OptimizerRequest:
    """Return the optimizer: torch's own by what it keeps, or any other by its sizes."""
    name = "other"
    if not memory.bytes and not memory.paged:
        name = TORCH_OPTIMIZERS.get((memory.states, memory.copies), name)
    return OptimizerRequest(
        name=name,
        states=memory.states,
        bytes=memory.bytes,
        copies=memory.copies,
        wide_embeddings=memory.wide_embeddings,
    )
