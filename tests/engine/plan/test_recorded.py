"""Allocations recorded on an H200, replayed through the simulated allocator: `benchmarks/memory/measured/*.gz`."""

from pathlib import Path

import pytest

from benchmarks.memory.history import load_history
from benchmarks.memory.points import Point
from benchmarks.memory.replayed import replay_history
from benchmarks.memory.table import load_table
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


def test_histories_were_recorded() -> None:
    assert len(HISTORIES) == 5
