"""Hardware that surely does the same for much less."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.catalog.hub.flavors import table_prices
from holdfast.catalog.models.configs import load_configs
from holdfast.core.plan.estimate import Interval
from holdfast.engine.plan.card import estimate_memory
from holdfast.engine.plan.cheaper import cheaper_hardware
from holdfast.engine.plan.hardware import find_hardware
from holdfast.engine.plan.job_model import JobModel
from holdfast.engine.plan.options import PlanOption
from holdfast.engine.plan.parameters import read_model
from holdfast.engine.plan.planning import JobPlan
from tests.helpers.training_steps import training_step

NAME = "Qwen/Qwen2.5-0.5B"
STEP = training_step(NAME, batch=1, length=512)
KNOWN = load_configs()[NAME]
MODEL = JobModel(architecture=read_model(KNOWN.config, KNOWN.parameters), type="qwen2", dtype=2, config=KNOWN.config)
HOUR = Interval(3600, 3000, 7200)


def option(name: str, usd: float, seconds: Interval = HOUR, **changes: Any) -> PlanOption:
    hardware = find_hardware(name, prices=None)
    memory = estimate_memory(STEP, expandable=True, gpu=hardware.gpus[0])
    cost = Interval(*(usd * each / HOUR.value for each in (seconds.value, seconds.low, seconds.high)))
    made = PlanOption(hardware=hardware, settings={}, memory=memory, fits=True, seconds=seconds, usd=cost)
    return replace(made, **changes)


def found(*others: PlanOption, own: PlanOption) -> str:
    plan = JobPlan(
        step=STEP,
        chosen=own,
        as_is=own,
        options=[*others, own],
        no_time="",
        because=(),
        prices=table_prices(),
    )
    cheaper = cheaper_hardware(plan, MODEL)
    return cheaper.name if cheaper else ""


H200 = option("h200", 5.0)


def test_the_cheapest_of_those_that_are_as_fast_is_named() -> None:
    assert found(option("a10g-large", 1.5), option("l4x1", 0.8), own=H200) == "l4x1"


@pytest.mark.parametrize(
    "other",
    [
        option("l4x1", 2.6),
        option("l4x1", 0.8, Interval(3700, 3000, 7200)),
        option("l4x1", 0.8, Interval(3600, 3000, 9000)),
        option("l4x1", 0.8, settings={"train.per_device_train_batch_size": 1}),
        option("l4x4", 0.8),
        option("l4x1", 0.8, hardware=replace(find_hardware("l4x1", prices=None), memory_bytes=1_000_000_000)),
        option("l4x1", 0.8, hardware=replace(find_hardware("l4x1", prices=None), disk_bytes=900_000_000)),
        replace(option("l4x1", 0.8), usd=None),
        option("l4x1", 0.8, memory=replace(H200.memory, card=Interval(20e9, 19e9, 23e9))),
    ],
    ids=[
        "price",
        "slower",
        "perhaps slower",
        "settings",
        "GPUs",
        "main memory",
        "disk",
        "no price",
        "no room to spare",
    ],
)
def test_what_is_not_certain_is_not_named(other: PlanOption) -> None:
    """A price that is near, a time that may be longer, other settings or GPUs, little main memory, disk or room on the GPU."""
    assert found(other, own=H200) == ""


def test_nothing_is_named_for_a_job_that_does_not_fit_or_has_no_price() -> None:
    cheap = option("l4x1", 0.8)
    assert found(cheap, own=replace(H200, fits=False)) == ""
    assert found(cheap, own=replace(H200, usd=None)) == ""
    assert found(cheap, own=replace(H200, seconds=None)) == ""
