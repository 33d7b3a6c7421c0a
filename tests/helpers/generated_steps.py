"""Training steps drawn at random: methods, adapters, precisions, losses, ways to share, models of the catalog."""

import random
from dataclasses import replace
from typing import Final

from holdfast.catalog.models.configs import load_configs
from holdfast.catalog.optimizers import load_optimizers
from holdfast.core.job.methods import Method
from holdfast.engine.plan.adapters import linear_names
from holdfast.engine.plan.architecture import Architecture
from holdfast.engine.plan.head import logits_head
from holdfast.engine.plan.parameters import read_model
from holdfast.engine.plan.step import (
    LoraAdapter,
    LossHead,
    Numerics,
    Rollout,
    Sharding,
    ShardingStrategy,
    TrainingStep,
    WeightQuantization,
)

PRECISIONS: Final = (
    Numerics(),
    Numerics(autocast=True),
    Numerics(weights=4, residual=4, autocast=True),
    Numerics(weights=4, compute=4, residual=4, mlp=4),
)
HEADS: Final = (
    *(LossHead(kind=kind) for kind in ("fused", "chunked", "chunked_float32", "liger", "score")),
    logits_head(14.0, 1, autocast=True, batch=4),
)
STRATEGIES: Final[tuple[ShardingStrategy, ...]] = ("none", "ddp", "fsdp", "zero1", "zero2", "zero3")


def generated_step(number: int) -> TrainingStep:
    """Return the step of a number, the same each time."""
    draw = random.Random(number)  # noqa: S311 - drawn again from its number
    known = draw.choice(list(load_configs().values()))
    model = read_model(known.config, known.parameters)
    adapter = _adapter(draw, model) if draw.random() < 2 / 3 else None
    quantized = adapter is not None and draw.random() < 1 / 2
    numerics = draw.choice(PRECISIONS)
    method = draw.choice(list(Method))
    return TrainingStep(
        method=method,
        model=model,
        batch=draw.choice([1, 3, 4]),
        length=draw.choice([300, 2048]),
        eval_batch=draw.choice([0, 8]),
        accumulation=draw.choice([1, 4]),
        numerics=replace(numerics, weights=2) if quantized else numerics,
        adapter=adapter,
        quantization=WeightQuantization(nested=draw.random() < 1 / 2, bits=draw.choice([4, 8])) if quantized else None,
        optimizer=draw.choice(list(load_optimizers().values())),
        head=draw.choice(HEADS),
        checkpointing=draw.random() < 2 / 3,
        reentrant=draw.random() < 1 / 2,
        attention=draw.choice(["flash", "sdpa", "eager"]),
        masked=draw.random() < 1 / 2,
        flattened=draw.random() < 1 / 3,
        fused=draw.choice([frozenset(), frozenset({"norm", "mlp"})]),
        reference=draw.random() < 1 / 3,
        scores_reference=draw.random() < 1 / 3,
        sharding=_sharding(draw),
        rollout=Rollout(rows=8, prompt=100, completion=draw.choice([24, 2000])) if method.generates else None,
    )


def _adapter(draw: random.Random, model: Architecture) -> LoraAdapter:
    return LoraAdapter(
        rank=draw.choice([8, 64]),
        targets=linear_names(model),
        bytes=draw.choice([2, 4]),
        dropout=draw.random() < 1 / 3,
        experts=model.experts is not None and draw.random() < 1 / 2,
    )


def _sharding(draw: random.Random) -> Sharding:
    strategy = draw.choice(STRATEGIES)
    if strategy == "none":
        return Sharding()
    wide = strategy == "fsdp" and draw.random() < 2 / 3
    return Sharding(strategy=strategy, processes=draw.choice([2, 8]), float32_shards=wide)
