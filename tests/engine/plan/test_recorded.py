"""Allocations recorded on an H200, replayed through the simulated allocator: `benchmarks/memory/measured/*.gz`."""

from pathlib import Path

import pytest

from benchmarks.memory.compared import compare_allocations
from benchmarks.memory.history import load_history
from benchmarks.memory.models import load_models
from benchmarks.memory.planned import step_of
from benchmarks.memory.points import Point
from benchmarks.memory.replayed import replay_history
from benchmarks.memory.table import load_table
from benchmarks.memory.traces import trace_whole
from benchmarks.plan_measured import MEASURED

HISTORIES = sorted(MEASURED.parent.glob("*.gz"))


@pytest.mark.parametrize("path", HISTORIES, ids=[path.stem for path in HISTORIES])
def test_in_each_phase_as_much_is_allocated_and_reserved_as_torch_said_to_the_byte(path: Path) -> None:
    point, events = load_history(path)
    (row,) = [row for row in load_table(MEASURED) if Point.of(row) == point]
    peaks = replay_history(events, expandable=point.expandable)
    measured = {phase: (int(row[f"{phase}_allocated_bytes"]), int(row[f"{phase}_reserved_bytes"])) for phase in peaks}
    assert len(peaks) > 10
    assert peaks == measured


@pytest.mark.train
@pytest.mark.long
@pytest.mark.parametrize("path", [path for path in HISTORIES if "float32" not in path.stem], ids=lambda path: path.stem)
def test_a_trace_allocates_in_the_order_in_which_the_run_did(path: Path) -> None:
    """The rest is one workspace of SDPA on an H200, where flash attention has four tensors."""
    point, events = load_history(path)
    traced = trace_whole(load_models()[point.model].config, step_of(point))
    found = compare_allocations(events, traced)
    assert found.matched_bytes > 0.97 * found.recorded_bytes


def test_histories_were_recorded() -> None:
    assert len(HISTORIES) == 5
