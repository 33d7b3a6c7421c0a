"""What processes send one another, and how long that takes."""

import pytest

from holdfast.catalog.hub.flavors import load_flavors
from holdfast.catalog.hub.gpus import load_ceilings, load_gpus
from holdfast.core.plan.estimate import Interval
from holdfast.engine.plan.communication import sending_seconds, sent_amount
from holdfast.engine.plan.job_time import Workload, job_time
from holdfast.engine.plan.parameters import total_parameters
from holdfast.engine.plan.step import LoraAdapter, Sharding
from tests.helpers.printed_formulas import evaluate
from tests.helpers.training_steps import training_step

A100 = load_ceilings()["NVIDIA A100 80GB"]
ADAPTER = LoraAdapter(rank=16, targets=frozenset({"q_proj", "v_proj"}))


@pytest.mark.parametrize(
    ("strategy", "accumulation", "bytes_each"),
    [
        ("ddp", 1, 4),  # a gradient in 16 bits, reduced and gathered
        ("ddp", 4, 4),  # once a step
        ("zero1", 4, 4),
        ("zero2", 1, 4),
        ("zero2", 4, 10),  # a gradient for each micro-batch, and the weights once
        ("zero3", 4, 24),
        ("fsdp", 1, 6),  # weights twice, and a gradient
        ("fsdp", 4, 18),
    ],
)
def test_each_way_to_share_sends_its_own_amount(strategy: str, accumulation: int, bytes_each: int) -> None:
    sharding = Sharding(strategy=strategy, processes=4)  # type: ignore[arg-type]
    step = training_step(sharding=sharding, accumulation=accumulation)
    assert sent_amount(step).value == pytest.approx(bytes_each * total_parameters(step.model) * 3 / 4)
    assert sent_amount(training_step()).value == 0


def test_copies_of_a_model_send_no_more_than_the_gradients_of_the_adapter() -> None:
    full, adapter = (
        training_step(sharding=Sharding(strategy="ddp", processes=8), adapter=each) for each in (None, ADAPTER)
    )
    assert sent_amount(adapter).value < sent_amount(full).value / 100
    shared = training_step(sharding=Sharding(strategy="fsdp", processes=8), adapter=ADAPTER)
    assert sent_amount(shared).value > sent_amount(full).value / 2


def test_the_time_to_send_overlaps_at_the_lower_end_alone() -> None:
    step = training_step(sharding=Sharding(strategy="fsdp", processes=2))
    link = Interval(200e9, 20e9, 208e9)
    waits = sending_seconds(step, link, beside=Interval(5, 4, 6))
    assert waits.low == 0
    assert waits.value == pytest.approx(sent_amount(step).value / 200e9)
    assert waits.high == pytest.approx(10 * waits.value)
    assert sending_seconds(step, link, beside=Interval(0.05, 0.05, 0.05)).low > 0


@pytest.mark.parametrize(("processes", "measured_ms"), [(2, (96, 104, 243, 252, 281)), (4, (131, 137, 156, 164, 214))])
def test_the_fastest_published_runs_of_several_gpus_waited_about_as_long_and_all_within_the_interval(
    processes: int, measured_ms: tuple[int, ...]
) -> None:
    """How much longer a step of two or four A100 took than of one: Mistral-7B, full, FSDP (benchmarks.plan_memory)."""
    step = training_step(sharding=Sharding(strategy="fsdp", processes=processes))
    assert A100.link_bytes_per_s
    waits = sending_seconds(step, A100.link_bytes_per_s, beside=Interval(4.8, 4.8, 4.8))
    assert min(measured_ms) / 1000 == pytest.approx(waits.value, rel=0.25)
    assert all(waits.low < each / 1000 < waits.high for each in measured_ms)


def test_communication_is_a_part_of_the_time_with_its_formula() -> None:
    step = training_step(sharding=Sharding(strategy="zero2", processes=8), accumulation=2)
    parts = {part.name: part for part in job_time(step, Workload(steps=1500), A100)}
    part = parts["communication"]
    assert evaluate(part.because) == pytest.approx(part.seconds.value, rel=0.02)
    alone = job_time(training_step(accumulation=2), Workload(steps=1500), A100)
    assert "communication" not in {each.name for each in alone}


def test_a_gpu_without_a_source_for_its_connection_has_no_such_part() -> None:
    ceilings = load_ceilings()["Tesla T4"]
    step = training_step(sharding=Sharding(strategy="ddp", processes=2))
    assert ceilings.link_bytes_per_s is None
    assert "communication" not in {each.name for each in job_time(step, Workload(steps=10), ceilings)}


def test_every_flavor_with_several_gpus_has_a_known_connection() -> None:
    several = {flavor.gpus[0].name for flavor in load_flavors().values() if len(flavor.gpus) > 1}
    assert several <= {gpu.name for gpu in load_gpus().values()}
    for name in several:
        link = load_ceilings()[name].link_bytes_per_s
        assert link, name
        assert 0 < link.low <= link.value <= link.high, name
