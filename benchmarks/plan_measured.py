"""`holdfast plan` beside what training runs really took of a GPU, as `benchmarks.memory_gpu` measured it.

    python -m benchmarks.plan_measured [TABLE.csv] [--trace] [--histories] [-v]

With `--trace`, each step is traced too, and with `--histories`, the recorded allocations of some are compared with their traces: minutes.

Allocated is `torch.cuda.max_memory_allocated`, reserved `torch.cuda.max_memory_reserved`. Card is what the driver counts: what torch reserved, and all else of the process.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from benchmarks.memory.compared import compare_allocations
from benchmarks.memory.errors import print_errors
from benchmarks.memory.history import Event, load_history
from benchmarks.memory.models import load_models
from benchmarks.memory.planned import step_of
from benchmarks.memory.points import Point
from benchmarks.memory.replayed import replay_history
from benchmarks.memory.table import Row, load_table
from benchmarks.memory.traces import StepToTrace, Untraced, trace_all, trace_whole
from holdfast.catalog.hub.gpus import GIB, GpuCeilings, load_ceilings, load_gpus
from holdfast.core.check.finding import MissingFactError
from holdfast.core.plan.estimate import Interval, MemoryEstimate
from holdfast.engine.plan.card import estimate_memory
from holdfast.engine.plan.duration import step_seconds
from holdfast.engine.plan.step import TrainingStep

MEASURED: Final = Path(__file__).parent / "memory" / "measured" / "h200.csv"
GPU: Final = "h200"
"""That measured, by its name in `gpus.toml`."""
METHODS: Final = ("sft", "dpo", "grpo")
STEPS: Final = (3, 4)
"""Steps whose time counts: the first ones compile, allocate and warm up."""


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A measured run beside its estimates.

    Attributes:
        row: Its row of the table.
        point: Its settings.
        step: Its step, as `plan` reads it.
        closed: The closed form's estimate.
        traced: The trace's; None where there is none.
    """

    row: Row
    point: Point
    step: TrainingStep
    closed: MemoryEstimate
    traced: MemoryEstimate | None = None

    @property
    def allocated(self) -> int:
        """The peak of what torch had allocated, in bytes."""
        return int(self.row["peak_allocated_bytes"])

    @property
    def reserved(self) -> int:
        """The peak of what torch had reserved, in bytes."""
        return int(self.row["peak_reserved_bytes"])

    @property
    def card(self) -> int:
        """The peak of what the process used of the card, in bytes."""
        return self.reserved + int(self.row["other_bytes"])

    @property
    def seconds(self) -> float:
        """Seconds of a step, the mean of those that count."""
        return sum(float(self.row[f"step_{step}_s"]) for step in STEPS) / len(STEPS)

    @property
    def predicted_seconds(self) -> Interval:
        """What `plan` says of a step's time."""
        return step_seconds(self.step, _ceilings(self.row), lengths=None)


def _ceilings(row: Row) -> GpuCeilings:
    return load_ceilings()[row["gpu"]]


def main() -> None:
    """Print the tables."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    runs = read_runs(load_table(Path(words[0]) if words else MEASURED))
    if "--trace" in sys.argv:
        runs = add_traces(runs)
    print_part("all", runs)
    print_part("held-out families", [run for run in runs if load_models()[run.point.model].holdout])
    print_part("expandable segments", [run for run in runs if run.point.expandable])
    print_part("default allocator", [run for run in runs if not run.point.expandable])
    for method in METHODS:
        print_part(method, [run for run in runs if run.point.method == method])
    for tuning in ("full", "lora", "qlora"):
        print_part(tuning, [run for run in runs if run.point.tuning == tuning])
    print_times(runs)
    if "--histories" in sys.argv:
        print_histories()
    if "-v" in sys.argv:
        for run in runs:
            print_run(run)


def read_runs(rows: Iterable[Row]) -> list[MeasuredRun]:
    """Return the runs that ended well and that the closed form knows; print why others are left out."""
    runs: list[MeasuredRun] = []
    for row in rows:
        point = Point.of(row)
        if row["outcome"] != "ok":
            print(f"left out: {row['outcome']} {point}")
            continue
        try:
            step = step_of(point)
        except MissingFactError as error:
            print(f"not supported: {error.because}: {point}")
            continue
        runs.append(
            MeasuredRun(row, point, step, estimate_memory(step, expandable=point.expandable, gpu=load_gpus()[GPU]))
        )
    return runs


def add_traces(runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """Return the runs with their traces; print why others have none."""
    steps = {
        str(run.point.key): StepToTrace(
            config=load_models()[run.point.model].config,
            step=run.step,
            closed=run.closed,
            expandable=run.point.expandable,
            gpu=load_gpus()[GPU],
        )
        for run in runs
    }
    traced = trace_all(steps)
    for key, each in traced.items():
        if isinstance(each, Untraced):
            print(f"not traced: {each.because}: {key}")
    estimates = {key: each for key, each in traced.items() if isinstance(each, MemoryEstimate)}
    return [replace(run, traced=estimates.get(str(run.point.key))) for run in runs]


def print_part(title: str, runs: Sequence[MeasuredRun]) -> None:
    """Print the errors on some runs."""
    if not runs:
        return
    print(f"\n{title}: {len(runs)} runs")
    print_errors("  allocated, closed form", ((run.closed.allocated, run.allocated) for run in runs))
    print_errors("  card, closed form", ((run.closed.card.value, run.card) for run in runs))
    print_bounds("  card, closed form", ((run.closed.card, run.card) for run in runs))
    if traced := [(run, run.traced) for run in runs if run.traced]:
        print_errors("  allocated, trace", ((trace.allocated, run.allocated) for run, trace in traced))
        print_errors(
            "  allocated, closed form, the same runs", ((run.closed.allocated, run.allocated) for run, _ in traced)
        )
        if simulated := [(run, trace.reserved) for run, trace in traced if trace.reserved]:
            print_errors("  reserved, trace", ((reserved, run.reserved) for run, reserved in simulated))
        print_errors("  card, trace", ((trace.card.value, run.card) for run, trace in traced))
        print_bounds("  card, trace", ((trace.card, run.card) for run, trace in traced))


def print_bounds(title: str, pairs: Iterable[tuple[Interval, float]]) -> None:
    """Print how often the measured value lies within the bounds."""
    known = list(pairs)
    above = sum(value > bounds.high for bounds, value in known)
    below = sum(value < bounds.low for bounds, value in known)
    print(f"{title:44} n={len(known):3}  above the upper bound {above}, below the lower {below}")


def print_times(runs: Sequence[MeasuredRun]) -> None:
    """Print the errors of the time of a step."""
    print("\nseconds per step")
    for method in METHODS:
        some = [run for run in runs if run.point.method == method]
        if some:
            print_errors(f"  {method}", ((run.predicted_seconds.value, run.seconds) for run in some))
            print_bounds(f"  {method}", ((run.predicted_seconds, run.seconds) for run in some))


def print_histories() -> None:
    """Print how many of the large allocations that were recorded a trace has, too."""
    print("\nallocations of 1 MiB and more in a first forward and backward pass")
    for path in sorted(MEASURED.parent.glob("*.gz")):
        point, events = load_history(path)
        print_replay(path.stem, point, events)
        found = compare_allocations(events, trace_whole(load_models()[point.model].config, step_of(point)))
        print(
            f"  {path.stem:50} recorded {found.recorded:5}, traced {found.traced:5}, in both {found.matched:5}: "
            f"{found.matched_bytes / found.recorded_bytes:.1%} of the bytes"
        )


def print_replay(title: str, point: Point, events: Sequence[Event]) -> None:
    """Print how far the simulated allocator is from what was reserved, when it is given what was recorded."""
    (row,) = [row for row in load_table(MEASURED) if Point.of(row) == point]
    peaks = replay_history(events, expandable=point.expandable)
    errors = [peak[1] / int(row[f"{phase}_reserved_bytes"]) - 1 for phase, peak in peaks.items()]
    print(f"  {title:50} reserved, replayed: {len(errors)} phases, worst {min(errors):+.1%} {max(errors):+.1%}")


def print_run(run: MeasuredRun) -> None:
    """Print one run."""
    point, bounds, time = run.point, run.closed.card, run.predicted_seconds
    what = f"{point.model} {point.method} {point.tuning} {point.weights} {point.batch}x{point.length} {point.rows} {point.attention}"
    flags = " ".join(
        name
        for name, given in (
            ("checkpoints", point.checkpointing),
            ("expandable", point.expandable),
            ("evaluation", point.evaluation),
        )
        if given
    )
    trace = (
        f" trace {run.traced.allocated / run.allocated - 1:+6.1%} card {run.traced.card.value / run.card - 1:+6.1%}"
        if run.traced
        else ""
    )
    print(
        f"{what:66} {flags:22} allocated {run.allocated / GIB:6.2f} {run.closed.allocated / run.allocated - 1:+6.1%} {run.closed.peak.name:9}"
        f" card {run.card / GIB:6.2f} [{bounds.low / GIB:6.2f} {bounds.high / GIB:6.2f}]{trace}"
        f"  step {run.seconds:5.2f} s [{time.low:5.2f} {time.value:5.2f} {time.high:5.2f}]"
    )


if __name__ == "__main__":
    main()
