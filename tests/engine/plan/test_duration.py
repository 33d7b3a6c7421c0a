"""Time, cost and timeout."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from holdfast.catalog.hub.gpus import load_ceilings
from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.methods import Method
from holdfast.core.plan.estimate import Interval
from holdfast.core.rows.row_lengths import RowLengths
from holdfast.engine.plan.duration import (
    count_steps,
    generation_seconds,
    padded_length,
    step_flops,
    step_seconds,
    timeout_for,
)
from holdfast.engine.plan.job_time import Workload, job_time
from holdfast.engine.plan.step import LoraAdapter, Rollout, Sharding
from tests.helpers.training_steps import training_step

A100 = load_ceilings()["NVIDIA A100 80GB"]
LORA = LoraAdapter(rank=16, targets=frozenset({"q_proj", "v_proj"}))

flops = partial(step_flops, length=None)


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
    full, adapter = flops(training_step()), flops(training_step(adapter=LORA))
    assert 8 < full / (training_step().tokens * 7.11e9) < 9.5
    assert full / adapter == pytest.approx(8 / 6, rel=0.05)


def test_a_published_speed_is_within_the_interval() -> None:
    # fms-acceleration, Mistral-7B, full, 4 x 4096 on an A100: 3063 tokens per second
    time = step_seconds(training_step(), A100, lengths=None)
    assert time.low < 4 * 4096 / 3063 < time.high


def test_a_small_step_takes_as_long_as_its_launches() -> None:
    step = training_step("Qwen/Qwen2.5-0.5B", batch=1, length=64)
    plain, adapted = (step_seconds(each, A100, lengths=None) for each in (step, replace(step, adapter=LORA)))
    again = step_seconds(replace(step, checkpointing=False), A100, lengths=None)
    assert 0.17 < plain.value < 0.25  # measured on an H200: 0.18 to 0.24 s
    assert plain.value > again.value
    assert adapted.low > plain.low


def test_generation_takes_its_time_token_by_token() -> None:
    step = training_step("Qwen/Qwen2.5-0.5B", method=Method.GRPO, rollout=Rollout(rows=8, prompt=8, completion=200))
    short = replace(step, rollout=Rollout(rows=8, prompt=8, completion=50))
    long_s, short_s = (generation_seconds(each, A100) for each in (step, short))
    assert long_s.value == pytest.approx(4 * short_s.value)
    assert long_s.low == 0.0  # completions may end at once
    assert step_seconds(step, A100, lengths=None).value > long_s.value


def test_prompts_are_padded_to_the_longest_of_those_that_are_answered_at_once() -> None:
    lengths = RowLengths(tokens=[10, 20], rows=2, units=2)
    one = training_step(method=Method.GRPO, rollout=Rollout(rows=8, prompt=20, completion=100, generations=8))
    two = replace(one, rollout=Rollout(rows=8, prompt=20, completion=100, generations=4))
    cut = replace(one, rollout=Rollout(rows=8, prompt=12, completion=100, generations=8))
    assert [padded_length(each, lengths) for each in (one, two, cut)] == [115.0, 117.5, 112.0]


def test_the_time_of_vllm_is_not_guessed() -> None:
    step = training_step(method=Method.GRPO, rollout=Rollout(rows=8, prompt=8, completion=8, here=False))
    with pytest.raises(MissingFactError, match="vLLM"):
        job_time(step, Workload(10), A100)


@pytest.mark.parametrize("changes", [{"masked": True}, {"attention": "eager"}])
def test_attention_over_all_pairs_takes_twice_as_long(changes: dict[str, Any]) -> None:
    step = training_step(attention="sdpa", length=4096)
    near, far = (replace(each, length=32768) for each in (step, replace(step, **changes)))
    assert 1.02 < flops(replace(step, **changes)) / flops(step) < flops(far) / flops(near) < 2


def test_texts_in_one_row_are_compared_with_all_of_it_where_a_mask_keeps_them_apart() -> None:
    packed = training_step(attention="sdpa", masked=True, flattened=True, batch=8)
    assert flops(packed) > 1.5 * flops(replace(packed, flattened=False))
    assert flops(replace(packed, attention="flash")) < flops(replace(packed, flattened=False))


def test_a_timeout_covers_the_upper_time_and_is_a_multiple_of_five_minutes() -> None:
    timeout = timeout_for(Interval(1000, 500, 2000))
    assert timeout >= 2600
    assert timeout % 300 == 0


def test_a_reference_goes_forward_too() -> None:
    step = training_step(adapter=LORA)
    assert flops(replace(step, scores_reference=True)) > 1.25 * flops(step)
