"""Runs on Hugging Face Jobs under one process, against the loopback Hub of the tests: what they cost, and how soon the end of a job is in the ledger.

    .venv/bin/python -m benchmarks.jobs_supervised [--queued 480] [--running 20] [--seconds 120]

The Hub and the supervisors are two processes. Each run is supervised by the real code, in a thread of its own, on the real clock. The queued jobs wait
for hardware all the time: they need no machine. The others are processes that sleep; they end at moments spread over the time, one in two silently,
so that the log says nothing of the end. The status calls are those that arrive at the Hub.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.machine import heading
from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.run_folder import make_run_folder, save_plan
from holdfast.app.run.observers import NO_OBSERVER
from holdfast.app.run.runs import Run
from holdfast.core.run.event import Event, Liveness, Polled, RunRequested, Started
from holdfast.core.run.plan import Plan
from tests.helpers.fakes import undiagnosed
from tests.helpers.hub import LoopbackHub, loopback_hub

SLEEPS: Final = "import sys, time\ntime.sleep(float(sys.argv[1]))\n"
STATUS: Final = re.compile(r"^GET /api/jobs/me(?:\?|/[^/]+$|$)")
QUEUED, SLEEPING, LINGERING = "queued", "sleeping", "lingering"
"""Kinds of runs: the log of a lingering job stays open after its end."""
STAGE_LAG_S: Final = 1.3
"""From the last line of a job to its last stage, as on the real Hub."""
BETWEEN_S: Final = 0.2
"""Between two submissions."""
WARM_UP_S: Final = 30
"""After the submissions, before anything is counted."""
LAST_S: Final = 45
"""How long the last ends may take."""


def begin(runs: Path, kind: str, number: int, seconds: float) -> Run:
    """Return a run that has a plan and no attempt; the kind is in the labels of its job."""
    folder = make_run_folder(runs, f"{kind}{number}", "20261128-010203", lambda *_: None)
    plan = Plan(
        name=kind,
        script=SLEEPS,
        script_name=f"{kind}.py",
        cwd=str(runs),
        backend="hf-jobs",
        hardware="cpu-basic",
        arguments=(str(seconds),),
        timeout_s=3600.0,
    )
    save_plan(folder, plan)
    ledger = Ledger(runs)
    ledger.append(folder.name, [RunRequested(at_s=time.time(), folder=str(folder))])
    return Run(name=folder.name, folder=folder, ledger=ledger)


def begin_all(runs: Path, given: argparse.Namespace) -> Iterator[Run]:
    """Yield the runs: those that stay queued, and those whose jobs end, spread over the time."""
    yield from (begin(runs, QUEUED, number, 0) for number in range(given.queued))
    for number in range(given.running):
        seconds = (given.running - number) * BETWEEN_S + WARM_UP_S + given.seconds * (number + 0.5) / given.running
        yield begin(runs, LINGERING if number % 2 else SLEEPING, number, seconds)


def supervise(runs: Path, given: argparse.Namespace) -> None:
    """Supervise all runs until the time is over; print what this process used meanwhile, as JSON."""
    all_runs = [*begin_all(runs, given)]
    before_bytes = _resident_bytes()
    for run in all_runs:
        threading.Thread(target=run.supervise, args=(NO_OBSERVER, undiagnosed), daemon=True).start()
        time.sleep(BETWEEN_S)
    ledger = Ledger(runs)  # each thread has its own
    while not all(any(isinstance(each, Started) for each in _events(ledger, run)) for run in all_runs):
        time.sleep(2)
    time.sleep(WARM_UP_S)
    print(flush=True)  # the Hub counts from now on
    began_s, processor_s = time.perf_counter(), time.process_time()
    time.sleep(given.seconds)
    used = {
        "minutes": (time.perf_counter() - began_s) / 60,
        "processor_s": time.process_time() - processor_s,
        "bytes": _resident_bytes() - before_bytes,
    }
    print(json.dumps(used), flush=True)
    time.sleep(LAST_S)
    print(json.dumps({run.name: ended_s for run in all_runs if (ended_s := _seen_s(ledger, run))}), flush=True)
    os._exit(0)  # the threads go on


def _events(ledger: Ledger, run: Run) -> Iterator[Event]:
    return (event for _, event in ledger.read(run.name))


def _seen_s(ledger: Ledger, run: Run) -> float | None:
    """Return the time at which the ledger got the end of a run's job; None if it has none."""
    ended = (each for each in _events(ledger, run) if isinstance(each, Polled) and each.answer is Liveness.ENDED)
    return next((each.at_s for each in ended), None)


def _resident_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(hub: LoopbackHub, folder: str, given: argparse.Namespace) -> None:
    """Have another process supervise the runs, and print the figures."""
    hub.jobs.mishap("stuck", QUEUED, times=None)
    hub.jobs.trap_logs(LINGERING, lingers=True)
    hub.jobs.stage_lag_s = STAGE_LAG_S
    options = [f"--{name}={getattr(given, name)}" for name in ("queued", "running", "seconds")]
    command = [sys.executable, "-m", "benchmarks.jobs_supervised", *options, "--supervise", folder]
    with subprocess.Popen(
        command, env={**os.environ, **hub.variables}, stdout=subprocess.PIPE, text=True
    ) as supervisor:
        assert supervisor.stdout is not None  # noqa: S101 - a pipe
        supervisor.stdout.readline()
        before = len(hub.requests)
        used = json.loads(supervisor.stdout.readline())
        counted = [each for each in hub.requests[before:] if STATUS.search(each.told)]
        seen = json.loads(supervisor.stdout.readline())
    print(
        f"{given.queued} queued and {given.running} running: {len(counted) / used['minutes']:.1f} status calls per minute, "
        f"{used['processor_s'] / used['minutes']:.2f} s of processor per minute, {used['bytes'] / 1e6:.0f} MB for all"
    )
    for kind in (SLEEPING, LINGERING):
        report_ends(hub, kind, seen)


def report_ends(hub: LoopbackHub, kind: str, seen: Mapping[str, float]) -> None:
    """Print how long after the ends of jobs they were in the ledger."""
    late = []
    jobs = [job for job in hub.jobs.all.values() if kind in job.line and job.ended]
    for job in jobs:
        name = next((each for each in seen if job.labels["holdfast-run"].startswith(each)), None)
        if name and job.finished_s:
            late.append(seen[name] - job.finished_s)
    shown = f"{median(late):.1f} s at the median, {min(late):.1f} to {max(late):.1f} s" if late else "-"
    print(f"{kind}: {len(late)} of {len(jobs)} ends are in the ledger, after {shown}")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queued", type=int, default=480, help="runs whose jobs wait for hardware")
    parser.add_argument("--running", type=int, default=20, help="runs whose jobs end")
    parser.add_argument("--seconds", type=float, default=120, help="how long is counted")
    parser.add_argument("--supervise", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.supervise:
        supervise(Path(given.supervise), given)
    print(heading("runs on Hugging Face Jobs under one process"))
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, loopback_hub() as hub:
        measure(hub, folder, given)


if __name__ == "__main__":
    main()
