"""Training steps for tests of the closed form."""

from dataclasses import replace
from typing import Any

from holdfast.catalog.hub.gpus import GIB
from holdfast.catalog.models.configs import load_configs
from holdfast.catalog.optimizers import load_optimizers
from holdfast.core.job.methods import Method
from holdfast.engine.plan.card import estimate_memory
from holdfast.engine.plan.parameters import read_model
from holdfast.engine.plan.step import LossHead, Numerics, TrainingStep


def training_step(name: str = "mistralai/Mistral-7B-v0.1", **changes: Any) -> TrainingStep:
    """Return a step of SFT in bfloat16 on four rows of 4096 tokens, with some things changed."""
    known = load_configs()[name]
    step = TrainingStep(
        method=Method.SFT,
        model=read_model(known.config, known.parameters),
        batch=4,
        length=4096,
        numerics=Numerics(),
        optimizer=load_optimizers()["adamw_torch_fused"],
        head=LossHead(kind="fused"),
        attention="flash",
    )
    return replace(step, **changes)


def allocated(step: TrainingStep) -> float:
    """Return the allocated memory in GiB."""
    return estimate_memory(step, expandable=True).allocated / GIB
