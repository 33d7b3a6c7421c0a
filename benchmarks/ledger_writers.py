"""Events a second that the ledger takes durably: from one writer, and from 200 processes at once.

    .venv/bin/python -m benchmarks.ledger_writers

Beside them: how often the same disk flushes a file of one line, the least that any durable write costs.
"""

import multiprocessing
import os
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.machine import heading
from holdfast.adapters.storage.ledger import Ledger
from holdfast.core.run.event import Reported

WRITERS, EVENTS = 200, 50


def write(folder: Path, run: str, events: int, start: Barrier) -> None:
    """Append events one by one, each durable before the next."""
    ledger = Ledger(folder)
    start.wait()
    for step in range(events):
        ledger.append(run, [Reported(at_s=time.time(), attempt=1, said={"event": "step", "step": step, "loss": 1.5})])


def measure(folder: Path, writers: int, events: int) -> float:
    """Return events a second, from the common start to the last event."""
    context = multiprocessing.get_context("fork")
    start = context.Barrier(writers + 1)
    processes = [context.Process(target=write, args=(folder, f"run-{n}", events, start)) for n in range(writers)]
    for process in processes:
        process.start()
    start.wait()
    begun = time.perf_counter()
    for process in processes:
        process.join()
    took_s = time.perf_counter() - begun
    kept = sum(len(Ledger(folder).read(f"run-{n}")) for n in range(writers))
    if kept != writers * events or any(process.exitcode for process in processes):
        raise SystemExit(f"lost: {kept} of {writers * events} events are there")
    return kept / took_s


def flushes(folder: Path, seconds: float = 2.0) -> float:
    """Return how often a second a line can be appended to a file and flushed to disk."""
    count, end = 0, time.perf_counter() + seconds
    with (folder / "plain").open("ab", buffering=0) as file:
        while time.perf_counter() < end:
            file.write(b"x" * 200)
            os.fsync(file.fileno())
            count += 1
    return count / seconds


def main() -> None:
    """Measure and print."""
    with TemporaryDirectory(dir=".") as scratch:
        folder = Path(scratch)
        print(heading("ledger, durable events a second"))
        print(f"one writer                  {measure(folder / 'one', 1, 2000):8.0f}")
        print(f"{WRITERS} writers at once        {measure(folder / 'many', WRITERS, EVENTS):8.0f}   (none lost)")
        print(f"the disk's plain flushes    {flushes(folder):8.0f}")


if __name__ == "__main__":
    main()
