"""The closed form beside what real training runs took of an H200: `benchmarks/memory/measured/`."""

from pathlib import Path

import pytest

from benchmarks.memory.models import load_models
from benchmarks.memory.points import Point
from benchmarks.memory.table import load_table
from benchmarks.plan_measured import MEASURED, MeasuredRun, read_runs

RUNS = read_runs(load_table(Path(MEASURED)))


@pytest.mark.parametrize("run", RUNS, ids=[*map(str, range(len(RUNS)))])
def test_allocated_memory_is_met_within_four_percent(run: MeasuredRun) -> None:
    assert run.closed.allocated == pytest.approx(run.allocated, rel=0.04)


@pytest.mark.parametrize("run", RUNS, ids=[*map(str, range(len(RUNS)))])
def test_the_card_used_what_the_bounds_say(run: MeasuredRun) -> None:
    assert run.closed.card.low <= run.card <= run.closed.card.high


def test_every_measured_run_is_supported() -> None:
    assert len(RUNS) == len(load_table(Path(MEASURED)))


@pytest.mark.parametrize("run", RUNS, ids=[*map(str, range(len(RUNS)))])
def test_as_many_parameters_are_trained(run: MeasuredRun) -> None:
    """An adapter on `all-linear` goes to the experts of OLMoE, and not to those of Granite."""
    assert run.step.trained == int(run.row["trainable"])


def test_held_out_families_were_measured_too() -> None:
    assert {run.point.model for run in RUNS if load_models()[run.point.model].holdout} >= {"gemma-3-270m", "phi-4-mini"}
    assert Point("qwen3-1.7b", batch=4) in {run.point for run in RUNS}
