"""The grid of `benchmarks/memory_gpu.py`: which points there are, and how pieces of the table come together."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import memory_gpu
from benchmarks.memory.compared import LARGE, compare_allocations
from benchmarks.memory.grid import CARD_GIB, POINT_S, grid, rough_bytes, rough_seconds, sensible
from benchmarks.memory.history import Event, Mark, load_history, peak_bytes, reduced, save_history
from benchmarks.memory.models import load_models
from benchmarks.memory.phases import PHASES, Phases
from benchmarks.memory.points import Point, needed_packages
from benchmarks.memory.table import (
    COLUMNS,
    Row,
    load_table,
    merge_rows,
    parse_table,
    pending,
    save_table,
    settings_cells,
)
from holdfast.payload.tracing.request import TraceAnswer, TraceMark

POINT = Point("qwen3-0.6b", length=512)
OTHER = replace(POINT, length=1024)


def row(point: Point, outcome: str, **cells: str) -> Row:
    return dict.fromkeys(COLUMNS, "") | settings_cells(point) | {"outcome": outcome} | cells


def test_the_grid_is_the_same_each_time_and_holds_no_point_twice() -> None:
    points = grid()
    assert points == grid()
    assert len({point.key for point in points}) == len(points)
    assert 80 <= len(points) <= 150


def test_the_grid_varies_everything() -> None:
    points = grid()
    told = {name: {getattr(point, name) for point in points} for name in Point.__dataclass_fields__}
    assert told["model"] == set(load_models())
    assert {512, 1024, 2048, 4096, 8192, 16384} <= told["length"]
    assert told["rows"] == {"constant", "padded", "packed"}
    assert told["optimizer"] == {"adamw_torch_fused", "adamw_torch", "adamw_bnb_8bit"}
    assert told["attention"] == {"sdpa", "eager", "flash_attention_2"}
    assert all(len(values) > 1 for values in told.values())


def test_every_kind_of_run_is_measured_on_families_to_fit_and_on_those_held_out() -> None:
    models = load_models()
    for holdout in (True, False):
        kinds = {(point.method, point.tuning) for point in grid() if models[point.model].holdout is holdout}
        assert len(kinds) == 9
    assert len({model.family for model in models.values()}) >= 6
    assert {model.family for model in models.values() if model.holdout} == {"gemma-3", "phi", "granite-moe"}


def test_what_cannot_be_is_not_in_the_grid() -> None:
    assert all(point == sensible(point) for point in grid() if not point.history)
    reached = [point for point in grid() if not point.card_gib]
    assert all(rough_bytes(point) < (CARD_GIB + 5) * 2**30 and rough_seconds(point) < 2 * POINT_S for point in reached)


@pytest.mark.parametrize("point", grid()[::10])
def test_a_point_is_read_from_its_row(point: Point) -> None:
    (cells,) = parse_table(",".join(COLUMNS) + "\n" + ",".join(row(point, "ok").values()) + "\n")
    assert Point.of(cells) == point


def test_a_row_says_whether_it_may_be_fitted_to() -> None:
    assert settings_cells(Point("gemma-3-1b"))["holdout"] == "True"
    assert settings_cells(POINT)["holdout"] == "False"


def test_pieces_are_merged_and_what_failed_gives_way() -> None:
    failed, done = row(POINT, "failed"), row(POINT, "ok", date="2026-11-23")
    again = row(POINT, "ok", date="2026-12-01")
    assert merge_rows([failed], [row(OTHER, "oom"), done], [again, failed]) == [done, row(OTHER, "oom")]


def test_only_what_has_no_answer_is_measured_again() -> None:
    rows = [row(POINT, "oom"), row(OTHER, "failed"), row(replace(POINT, length=4096), "dry")]
    points = [POINT, OTHER, replace(POINT, length=4096), replace(POINT, length=8192)]
    assert pending(points, rows) == points[1:]


def test_a_table_survives_being_written_and_read(tmp_path: Path) -> None:
    rows = [row(POINT, "oom", error='OutOfMemoryError: tried, "so much"; 3.5 GiB')]
    save_table(rows, tmp_path / "measured" / "h200.csv")
    assert load_table(tmp_path / "measured" / "h200.csv") == rows
    assert load_table(tmp_path / "none.csv") == []


def test_pieces_are_merged_by_the_program_without_what_measured_nothing(tmp_path: Path) -> None:
    pieces = [tmp_path / "a.csv", tmp_path / "b.csv"]
    save_table([row(POINT, "failed"), row(replace(POINT, batch=4), "dry")], pieces[0])
    save_table([row(POINT, "ok"), row(OTHER, "ok")], pieces[1])
    assert memory_gpu.main([str(tmp_path / "all.csv"), "--merge", *map(str, pieces)]) == 0
    assert load_table(tmp_path / "all.csv") == [row(POINT, "ok"), row(OTHER, "ok")]


def test_a_machine_without_a_card_is_told_so_in_a_sentence(tmp_path: Path) -> None:
    program = "import ctypes; ctypes.CDLL = open\nfrom benchmarks.memory_gpu import main; raise SystemExit(main())"
    words = [sys.executable, "-c", program, str(tmp_path / "t.csv")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "skipped: no CUDA card: libcuda.so.1 does not load\n")
    assert not [*tmp_path.iterdir()]


def test_an_environment_without_torch_is_told_so(monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> None:
    monkeypatch.setattr(memory_gpu, "find_spec", lambda name: None if name in ("torch", "trl") else object())
    assert memory_gpu.main([str(tmp_path / "t.csv")]) == 0
    assert capsys.readouterr().out == "skipped: not installed: torch, trl\n"


def test_points_whose_packages_are_missing_are_left_for_another_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_gpu, "find_spec", lambda name: None if name == "bitsandbytes" else object())
    quantized = replace(POINT, tuning="qlora")
    assert needed_packages(quantized) == ("bitsandbytes",)
    assert memory_gpu.possible([POINT, quantized]) == [POINT]


def test_peaks_are_those_of_each_phase() -> None:
    peaks = iter([(100, 200), (10, 200), (300, 400), (50, 400), (20, 400)])
    counts = iter([3, 5, 9, 12])
    phases = Phases(lambda: next(peaks), lambda: next(counts))
    for phase in ("begin", "first_forward", "first_backward", "first_forward"):
        phases.enter(phase)
    phases.close()
    assert phases.peaks == {
        "load": (100, 200),
        "begin": (10, 200),
        "first_forward": (300, 400),
        "first_backward": (50, 400),
    }
    assert phases.overall() == (300, 400)
    assert phases.marks == [
        ("load", 0),
        ("begin", 3),
        ("first_forward", 5),
        ("first_backward", 9),
        ("first_forward", 12),
    ]
    assert phases.cells()["first_forward_allocated_bytes"] == "300"
    assert set(phases.peaks) <= set(PHASES)


TRACE = [
    {"action": "segment_alloc", "addr": 1, "size": 2097152},
    {"action": "alloc", "addr": 1, "size": 1000},
    {"action": "alloc", "addr": 2, "size": 512},
    {"action": "free_requested", "addr": 1, "size": 1000},
    {"action": "free_completed", "addr": 1, "size": 1000},
    {"action": "alloc", "addr": 1, "size": 600},
    {"action": "free_completed", "addr": 9, "size": 600},
]
MARKS: list[Mark] = [("load", 0), ("begin", 2), ("first_forward", 3), ("first_backward", 5)]
EVENTS: list[Event] = [
    ("@", "load"), ("+", 1000), ("+", 512), ("@", "begin"), ("-", 0), ("@", "first_forward"), ("+", 600), ("@", "first_backward"),
]  # fmt: skip


def test_a_recorded_trace_becomes_events_by_phase() -> None:
    assert [*reduced(TRACE, MARKS)] == EVENTS
    assert peak_bytes(EVENTS) == 1536


def test_a_history_survives_being_written_and_read(tmp_path: Path) -> None:
    save_history(POINT, EVENTS, path := tmp_path / "one.gz")
    assert load_history(path) == (POINT, EVENTS)
    first = path.read_bytes()
    save_history(POINT, EVENTS, path)
    assert path.read_bytes() == first


class Process:
    """A point's process that answers at once."""

    ended: list[str]

    def __init__(self, point: Point, ended: list[str]) -> None:
        self.point, self.ended = point, ended

    def run(self, limit_s: float) -> Row:
        assert limit_s <= memory_gpu.POINT_S
        return row(self.point, "ok")

    def end(self) -> None:
        self.ended.append(self.point.model)


def test_points_are_measured_in_their_order_and_none_is_begun_when_the_time_is_up() -> None:
    points = [replace(POINT, batch=batch) for batch in range(1, 9)]
    ended: list[str] = []
    rows = memory_gpu.measured(points, lambda point: Process(point, ended), float("inf"))  # type: ignore[arg-type, return-value]  # a process that has ended
    assert [Point.of(each) for each in rows] == points
    assert not ended
    assert not [*memory_gpu.measured(points, lambda point: Process(point, ended), 0)]  # type: ignore[arg-type, return-value]  # a process that has ended
    assert len(ended) == memory_gpu.AHEAD


def test_allocations_are_compared_in_their_order() -> None:
    large = 2 * LARGE
    events: list[Event] = [
        ("@", "first_forward"),
        ("+", large),
        ("+", 512),
        ("+", 3 * large),
        ("@", "first_optimizer"),
        ("+", large),
    ]
    marks = (TraceMark(0, "forward", 0), TraceMark(3, "optimizer", -1))
    trace = TraceAnswer(
        layers=1, sizes=(large, 5 * large, 3 * large, large), tags=(3, 3, 3, 2), events=(1, 2, 3, 4), marks=marks
    )
    found = compare_allocations(events, trace)
    assert (found.recorded, found.traced, found.matched) == (2, 3, 2)
    assert (found.recorded_bytes, found.matched_bytes) == (4 * large, 4 * large)
