"""The closed form beside traces: values that a prototype gave (docs/estimates.md), and traces of our own."""

import sys
from typing import Any, Final

import pytest

from holdfast.adapters.tracing import trace_steps
from holdfast.catalog.hub.gpus import GIB
from holdfast.catalog.models.configs import load_configs
from holdfast.core.job.methods import Method
from holdfast.core.plan.estimate import MemoryEstimate
from holdfast.engine.plan.card import estimate_memory
from holdfast.engine.plan.head import logits_head
from holdfast.engine.plan.step import LoraAdapter, LossHead, Numerics, TrainingStep, WeightQuantization
from holdfast.engine.plan.trace_request import trace_depths, trace_request
from holdfast.engine.plan.traced import trace_memory
from holdfast.engine.plan.traced_step import TracedStep
from tests.helpers.training_steps import allocated, training_step

ALL = frozenset({"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"})
MIXED = Numerics(weights=4, residual=4, autocast=True)
LORA = LoraAdapter(rank=16, targets=ALL)
SMALL, LARGE = "Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-7B"
EIGHT: dict[str, Any] = {"batch": 8, "length": 1024}
ONE = logits_head(10.0, 0, autocast=False, batch=1)


QUANTIZED = WeightQuantization(nested=True)
STEPS: Final[list[tuple[str, dict[str, Any], float]]] = [
    (LARGE, {**EIGHT, "adapter": LORA, "numerics": MIXED}, 35.6),
    (LARGE, {**EIGHT, "adapter": LORA, "numerics": Numerics(autocast=True)}, 19.3),
    (SMALL, {**EIGHT, "numerics": MIXED}, 8.5),
    (SMALL, {**EIGHT, "numerics": MIXED, "head": logits_head(10.0, 0, autocast=True, batch=8)}, 20.5),
    (SMALL, {"method": Method.DPO, "batch": 4, "length": 1024, "reference": True, "numerics": MIXED}, 10.3),
    (SMALL, {"batch": 1, "length": 1024, "head": ONE}, 4.57),
    (SMALL, {"batch": 1, "length": 1024, "head": ONE, "checkpointing": False}, 5.86),
    (LARGE, {"batch": 1, "length": 2048, "head": ONE}, 56.75),
    (LARGE, {"batch": 1, "length": 2048, "head": ONE, "checkpointing": False}, 59.0),
]


@pytest.mark.parametrize(("name", "changes", "traced"), STEPS)
def test_the_closed_form_is_near_the_trace(name: str, changes: dict[str, Any], traced: float) -> None:
    assert allocated(training_step(name, **changes)) == pytest.approx(traced, rel=0.08)


OWN: Final[list[tuple[str, dict[str, Any]]]] = [
    *((name, changes) for name, changes, _ in STEPS),
    (LARGE, {**EIGHT, "adapter": LORA, "numerics": Numerics(autocast=True), "quantization": QUANTIZED}),
    (SMALL, {**EIGHT, "numerics": MIXED, "attention": "sdpa", "masked": True}),
    (SMALL, {**EIGHT, "numerics": MIXED, "head": LossHead(kind="score"), "method": Method.REWARD, "batch": 4}),
    (
        SMALL,
        {
            "method": Method.KTO,
            "batch": 8,
            "length": 1024,
            "reference": True,
            "scores_reference": True,
            "numerics": MIXED,
        },
    ),
]
"""Steps that are traced here, with the code of today: those above, and some that the prototype did not have."""


@pytest.fixture(scope="module")
def traced_steps() -> list[tuple[TrainingStep, MemoryEstimate]]:
    steps = [(name, training_step(name, **changes)) for name, changes in OWN]
    asked = [
        [
            trace_request(step, load_configs()[name].config, depth)
            for depth in trace_depths(load_configs()[name].config, step.model)[0]
        ]
        for name, step in steps
    ]
    answers = iter(trace_steps([each for pair in asked for each in pair], [sys.executable], limit_s=290, header=""))
    found = []
    for (_, step), pair in zip(steps, asked, strict=True):
        told = [next(answers) for _ in pair]
        assert not any(each.problem for each in told), told
        closed = estimate_memory(step, expandable=True)
        found.append(
            (step, trace_memory(step, TracedStep(told, step.model.layers, 1, expandable=True), closed, gpu=None))
        )
    return found


@pytest.mark.train
@pytest.mark.long
@pytest.mark.parametrize("place", range(len(OWN)))
def test_the_closed_form_is_near_a_trace_of_today(
    traced_steps: list[tuple[TrainingStep, MemoryEstimate]], place: int
) -> None:
    step, memory = traced_steps[place]
    assert estimate_memory(step, expandable=True).allocated / GIB == pytest.approx(memory.allocated / GIB, rel=0.08)


@pytest.mark.train
@pytest.mark.long
@pytest.mark.parametrize("place", range(len(STEPS)))
def test_the_trace_gives_what_the_prototype_gave(
    traced_steps: list[tuple[TrainingStep, MemoryEstimate]], place: int
) -> None:
    """The prototype kept float32 queries, and summed gradients into new tensors, as the engine does of fake tensors alone."""
    assert traced_steps[place][1].allocated / GIB == pytest.approx(STEPS[place][2], rel=0.06)
