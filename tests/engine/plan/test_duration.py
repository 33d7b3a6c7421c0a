"""Time, cost and timeout."""

from dataclasses import replace

import pytest

from holdfast.catalog.hub.gpus import load_ceilings
from holdfast.core.estimate import Interval
from holdfast.core.finding import MissingFactError
from holdfast.core.methods import Method
from holdfast.engine.plan.duration import Workload, count_steps, job_seconds, step_flops, step_seconds, timeout_for
from holdfast.engine.plan.step import LoraAdapter, Rollout, Sharding
from tests.helpers.training_steps import training_step

A100 = load_ceilings()["NVIDIA A100 80GB"]
LORA = LoraAdapter(rank=16, targets=frozenset({"q_proj", "v_proj"}))


@pytest.mark.parametrize(
    ("rows", "epochs", "max_steps", "steps"), [(100, 1, -1, 13), (100, 3, -1, 39), (100, 1, 7, 7), (1, 0.1, -1, 1)]
)
def test_steps_are_counted_as_the_trainer_does(rows: int, epochs: float, max_steps: int, steps: int) -> None:
    step = training_step(batch=4, accumulation=2)
    assert count_steps(step, rows, epochs, max_steps) == steps


def test_processes_share_the_rows() -> None:
    step = training_step(batch=4, sharding=Sharding(strategy="ddp", processes=5))
    assert count_steps(step, 100, 1, -1) == 5


def test_arithmetic_is_eight_operations_per_weight_with_checkpoints_and_less_for_an_adapter() -> None:
    full, adapter = step_flops(training_step()), step_flops(training_step(adapter=LORA))
    assert 8 < full / (training_step().tokens * 7.11e9) < 9.5
    assert full / adapter == pytest.approx(8 / 6, rel=0.05)


def test_a_published_speed_is_within_the_interval() -> None:
    # fms-acceleration, Mistral-7B, full, 4 x 4096 on an A100: 3063 tokens per second
    time = step_seconds(training_step(), A100)
    assert time.low < 4 * 4096 / 3063 < time.high


def test_a_small_step_takes_as_long_as_its_launches() -> None:
    time = step_seconds(training_step("Qwen/Qwen2.5-0.5B", batch=1, length=64), A100)
    assert time.value > 0.9 * 24 * 7.4e-3


def test_the_time_of_generating_is_not_guessed() -> None:
    step = training_step(method=Method.GRPO, rollout=Rollout(rows=8, prompt=8, completion=8))
    with pytest.raises(MissingFactError, match="generated"):
        job_seconds(step, Workload(10), A100)


def test_a_timeout_covers_the_upper_time_and_is_a_multiple_of_five_minutes() -> None:
    timeout = timeout_for(Interval(1000, 500, 2000), training_step(adapter=LORA))
    assert timeout >= 2600
    assert timeout % 300 == 0


def test_a_reference_goes_forward_too() -> None:
    step = training_step(adapter=LORA)
    assert step_flops(replace(step, scores_reference=True)) > 1.25 * step_flops(step)
