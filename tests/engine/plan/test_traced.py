"""The closed form beside values that a fake-tensor trace gave (facts/memory.md, sections 0, 1.1 and 4)."""

from typing import Any

import pytest

from holdfast.core.methods import Method
from holdfast.engine.plan.head import logits_head
from holdfast.engine.plan.step import LoraAdapter, Numerics
from tests.helpers.training_steps import allocated, training_step

ALL = frozenset({"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"})
MIXED = Numerics(weights=4, residual=4, autocast=True)
LORA = LoraAdapter(rank=16, targets=ALL)
SMALL, LARGE = "Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-7B"
EIGHT: dict[str, Any] = {"batch": 8, "length": 1024}
ONE = logits_head(10.0, 0, autocast=False, batch=1)


@pytest.mark.parametrize(
    ("name", "changes", "traced"),
    [
        (LARGE, {**EIGHT, "adapter": LORA, "numerics": MIXED}, 35.6),
        (LARGE, {**EIGHT, "adapter": LORA, "numerics": Numerics(autocast=True)}, 19.3),
        (SMALL, {**EIGHT, "numerics": MIXED}, 8.5),
        (SMALL, {**EIGHT, "numerics": MIXED, "head": logits_head(10.0, 0, autocast=True, batch=8)}, 20.5),
        (SMALL, {"method": Method.DPO, "batch": 4, "length": 1024, "reference": True, "numerics": MIXED}, 10.3),
        (SMALL, {"batch": 1, "length": 1024, "head": ONE}, 4.57),
        (SMALL, {"batch": 1, "length": 1024, "head": ONE, "checkpointing": False}, 5.86),
        (LARGE, {"batch": 1, "length": 2048, "head": ONE}, 56.75),
        (LARGE, {"batch": 1, "length": 2048, "head": ONE, "checkpointing": False}, 59.0),
    ],
)
def test_the_closed_form_is_near_the_trace(name: str, changes: dict[str, Any], traced: float) -> None:
    assert allocated(training_step(name, **changes)) == pytest.approx(traced, rel=0.08)
