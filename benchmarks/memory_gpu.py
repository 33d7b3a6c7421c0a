"""What real training runs need of a CUDA card: a grid of them, measured one by one, into one table.

    python -m benchmarks.memory_gpu TABLE.csv [--seconds 540]      on a machine with a CUDA card and TRL
    python -m benchmarks.memory_gpu TABLE.csv --merge PIECE.csv    put pieces together
    python -m benchmarks.memory_gpu TABLE.csv --dry                tiny models on the processor: does it all run?
    python -m benchmarks.memory_gpu TABLE.csv --list               what is still to be measured

Each point of `benchmarks/memory/grid.py` trains four steps with TRL's real trainer, in a process of its own, on a model
of random weights. Points that the table has already are passed over, so it may be run in pieces and killed at any time.
Several processes import at once; the card is used by one after another, so times and the card's own figures hold.
Beside torch it needs trl, transformers, peft, accelerate and datasets at the versions of `constraints.txt`; without
bitsandbytes or flash-attn their points are left out, for another time.
Columns: `benchmarks/memory/table.py`. Recorded histories are written beside the table.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir
from typing import Final, Self

from benchmarks.machine import heading
from benchmarks.memory.grid import grid
from benchmarks.memory.points import Point, needed_packages
from benchmarks.memory.table import Row, load_table, merge_rows, pending, save_table, settings_cells

NEEDED: Final = ("torch", "trl", "peft", "datasets")
AHEAD: Final = 4  # processes that import while one uses the card
POINT_S: Final = 100  # after which a point is given up
RESERVE_S: Final = 20  # kept of the time that is left, so that the last point may end


@dataclass(frozen=True, slots=True)
class Started:
    """A process that makes itself ready for its point."""

    point: Point
    process: subprocess.Popen[str]

    @classmethod
    def of(cls, point: Point, folder: Path, *, dry: bool) -> Self:
        """Start the process of a point; the card is not touched yet."""
        history = ["--history", str(folder / f"{history_name(point)}.gz")] if point.history else []
        words = [sys.executable, "-m", "benchmarks.memory.measure", gettempdir() + "/holdfast-memory"]
        log = (folder / "memory_gpu.log").open("a")
        process = subprocess.Popen(
            [*words, *history, *(["--dry"] if dry else [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ | environment(point),
        )  # fmt: skip
        write(process, json.dumps(asdict(point)))
        return cls(point, process)

    def run(self, limit_s: float) -> Row:
        """Let the process use the card as soon as it is ready, and return its row."""
        try:
            lines = self.process.communicate("go\n", timeout=limit_s)[0].splitlines()
            told = json.loads(lines[-1]) if lines else {"outcome": "failed", "error": "the process died"}
        except subprocess.TimeoutExpired:
            self.end()
            told = {"outcome": "failed", "error": f"not done after {limit_s:.0f} s"}
        return settings_cells(self.point) | told | {"alone": "True"}

    def end(self) -> None:
        """End the process and wait until the card is free of it."""
        self.process.kill()
        self.process.communicate()


def write(process: subprocess.Popen[str], line: str) -> None:
    """Send a line to a process; one that has died is found out when it is waited for."""
    assert process.stdin is not None  # noqa: S101 - it is a pipe
    try:
        process.stdin.write(line + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass


def history_name(point: Point) -> str:
    """Return the name of a history's file.

    >>> history_name(Point("qwen3-8b", "dpo", "qlora", length=512, history=True))
    'qwen3-8b-dpo-qlora-bfloat16-2x512'
    """
    return f"{point.model}-{point.method}-{point.tuning}-{point.weights}-{point.batch}x{point.length}"


def environment(point: Point) -> dict[str, str]:
    """Return what a process must have in its environment before it starts."""
    told = {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "0", "TOKENIZERS_PARALLELISM": "false"}
    settings = f"expandable_segments:{point.expandable}"
    return told | {"PYTORCH_ALLOC_CONF": settings, "PYTORCH_CUDA_ALLOC_CONF": settings}


def measured(points: Iterable[Point], start: Callable[[Point], Started], ends: float) -> Iterator[Row]:
    """Yield the rows of points in their order, until the time is up.

    Args:
        points: What to measure.
        start: Starts the process of a point.
        ends: When to end, by the monotonic clock.
    """
    left = iter(points)
    waiting = deque(start(point) for _, point in zip(range(AHEAD), left, strict=False))
    try:
        while waiting and (remaining := ends - time.monotonic()) > RESERVE_S:
            yield waiting[0].run(min(POINT_S, remaining))
            waiting.popleft()
            waiting.extend(start(point) for _, point in zip(range(1), left, strict=False))
    finally:
        for started in waiting:
            started.end()


def reason_to_skip(*, dry: bool) -> str | None:
    """Return why nothing can be measured here, None if it can."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    return None if dry or _has_driver() else "no CUDA card: libcuda.so.1 does not load"


def _has_driver() -> bool:
    """Whether the driver of a CUDA card can be loaded, which takes no import of torch to know."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def possible(points: Sequence[Point]) -> list[Point]:
    """Return the points whose packages are installed."""
    return [point for point in points if all(find_spec(name) is not None for name in needed_packages(point))]


def summary(row: Row) -> str:
    """Return a line about a row, for who watches."""
    sizes = [int(row.get(f"peak_{kind}_bytes") or 0) / 2**30 for kind in ("allocated", "reserved")]
    steps = " ".join(row.get(f"step_{step}_s", "") for step in (1, 2, 4))
    settings = (row[name] for name in ("model", "method", "tuning", "weights", "batch", "length", "rows", "attention"))
    return f"{' '.join(settings)}: {row['outcome']} {sizes[0]:.2f} {sizes[1]:.2f} GiB; {steps} s {row.get('error', '')}"


def measure_all(asked: argparse.Namespace) -> None:
    """Measure what the table lacks, and save it after every point."""
    began = time.monotonic()
    rows = load_table(asked.table)
    points = possible(pending(grid(), rows))[: asked.limit]
    asked.table.parent.mkdir(parents=True, exist_ok=True)
    print(heading(f"{len(points)} points to measure"), flush=True)

    def start(point: Point) -> Started:
        return Started.of(point, asked.table.parent, dry=asked.dry)

    for row in measured(points, start, began + asked.seconds):
        rows = merge_rows(rows, [row])
        save_table(rows, asked.table)
        print(f"{time.monotonic() - began:5.0f} s  {summary(row)}", flush=True)
    print(f"{len(pending(points, rows))} left of these; {len(rows)} rows in the table")


def main(words: Sequence[str] | None = None) -> int:
    """Measure, merge or list; 0 also where there is nothing to measure with."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--seconds", type=float, default=540, help="end in time for a limit of ten minutes")
    parser.add_argument("--limit", type=int, help="measure no more points than these")
    parser.add_argument("--dry", action="store_true", help="tiny models on the processor; nothing of memory is told")
    parser.add_argument("--list", action="store_true", help="print what is still to be measured")
    parser.add_argument("--merge", type=Path, nargs="+", help="tables to take rows from")
    asked = parser.parse_args(words)
    if asked.merge:
        rows = merge_rows(load_table(asked.table), *map(load_table, asked.merge))
        save_table([row for row in rows if row["outcome"] != "dry"], asked.table)
    elif asked.list:
        print(*pending(grid(), load_table(asked.table)), sep="\n")
    elif reason := reason_to_skip(dry=asked.dry):
        print(f"skipped: {reason}")
    else:
        measure_all(asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
