"""Supervisors that are killed around a submission and around polls: do two attempts of a run ever live at once, or does one start twice?

    .venv/bin/python -m benchmarks.exactly_once [COUNT] [--seed 0]

A case is drawn by its number: on this machine, or on a service (`fake`) that loses calls and answers; the write to the folder of runs before which
the supervisor kills itself by SIGKILL, and of a third of the cases the same during `holdfast resume`. Then one `resume` is left alone, which has
to succeed. Supervisors are forked from a process that has imported holdfast, and everything else is real: the command, the ledger, the guard,
the attempt, which takes a lock for as long as it lives.
"""

import argparse
import os
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from signal import SIGKILL
from tempfile import mkdtemp
from typing import Final

from benchmarks.machine import heading
from benchmarks.small_runs import KILL_AT_WRITE
from holdfast.adapters.storage.ledger import Ledger
from holdfast.cli.main import run_command
from holdfast.core.run.event import Started
from holdfast.core.run.run_state import fold

SCRIPT: Final = """
import fcntl, os, sys, time
there = sys.argv[1]
alive = open(f"{there}/alive.lock", "a")
try:
    fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    open(f"{there}/twice.txt", "a").write("two attempts live at once")
number = os.path.basename(os.environ["HOLDFAST_ATTEMPT"])
with open(f"{there}/started.txt", "a") as file:
    file.write(f"{number}\\n")
time.sleep(0.2)
print("done")
"""
WRITES: Final = 45
"""A little more than one run makes."""
FAULTS: Final = "{seed: %d, unreachable: 0.2, answer_lost: 0.3, unknown: 0.2}"


def command(folder: Path, words: list[str], kill_at: int = 0) -> int:
    """Run a command in a forked process; return its exit code, negative if a signal ended it."""
    if not (pid := os.fork()):
        os.chdir(folder)
        quiet = os.open("printed.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os.environ |= {"HOLDFAST_RUNS": str(folder / "runs"), "KILL_AT": str(kill_at), "HF_HUB_OFFLINE": "1"}
        space: dict[str, object] = {}
        exec(f"{KILL_AT_WRITE}\narm('KILL_AT')", space)  # noqa: S102 - our own
        code = 1
        try:
            code = run_command(words)
        finally:
            sys.stdout.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def play(number: int, folder: Path) -> tuple[str, list[str]]:
    """Play one case; return who was killed where, and what should not be."""
    dice = random.Random(number)  # noqa: S311 - no secret
    folder.mkdir(parents=True)
    (folder / "train.py").write_text(SCRIPT)
    is_here = dice.random() < 0.5  # noqa: PLR2004 - a half
    elsewhere = ["--on", "fake", "--set", f"where.options.faults={FAULTS % number}"]
    words = [
        "run",
        "train.py",
        "--no-rehearse",
        "--offline",
        "--quiet",
        *([] if is_here else elsewhere),
        "--",
        str(folder),
    ]
    killed = command(folder, words, dice.randint(1, WRITES)) == -SIGKILL
    if not (runs := _runs(folder)):  # nothing was begun
        command(folder, words)
        runs = _runs(folder)
    if dice.random() < 1 / 3 and _stage(folder, runs[0]) != "succeeded":
        killed |= command(folder, ["resume", runs[0], "--quiet"], dice.randint(1, WRITES)) == -SIGKILL
    code = 0 if _stage(folder, runs[0]) == "succeeded" else command(folder, ["resume", runs[0], "--quiet"])
    kind = f"{'this machine' if is_here else 'a service'}, {'killed' if killed else 'not killed'}"
    return kind, [*([f"`resume` ended with {code}"] if code else []), *_wrongs(folder, runs[0])]


def warm_up(place: Path) -> None:
    """Run a script in this process, so that those which are forked find imported what a run imports, and read what it reads."""
    folder, before = place / "warm", Path.cwd()
    folder.mkdir()
    (folder / "train.py").write_text(SCRIPT)
    os.chdir(folder)
    os.environ |= {"HOLDFAST_RUNS": str(folder / "runs"), "HF_HUB_OFFLINE": "1"}
    for elsewhere in ([], ["--on", "fake"]):
        run_command(["run", "train.py", "--no-rehearse", "--offline", "--quiet", *elsewhere, "--", str(folder)])
        (folder / "alive.lock").unlink()
    run_command(["resume", Ledger(folder / "runs").runs()[0], "--quiet"])
    os.chdir(before)


def _runs(folder: Path) -> list[str]:
    return Ledger(folder / "runs").runs() if (folder / "runs").exists() else []


def _stage(folder: Path, run: str) -> str:
    return str(fold(Ledger(folder / "runs").outline(run)).stage)


def _wrongs(folder: Path, run: str) -> Iterator[str]:
    """Yield what should not be, at the end of a run."""
    started = Counter((folder / "started.txt").read_text().split() if (folder / "started.txt").exists() else [])
    submitted = Counter(event.attempt for _, event in Ledger(folder / "runs").read(run) if isinstance(event, Started))
    if _stage(folder, run) != "succeeded":
        yield f"the run is {_stage(folder, run)}"
    if (folder / "twice.txt").exists():
        yield "two attempts lived at once"
    if doubled := [number for number, count in started.items() if count > 1]:
        yield f"attempts {doubled} were started twice"
    if noted := [number for number, count in submitted.items() if count > 1]:
        yield f"attempts {noted} were noted as started twice"
    if len(started) != 1:
        yield f"{len(started)} attempts were started, and one was enough"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first case")
    asked = parser.parse_args()
    place, outcomes = Path(mkdtemp(prefix="once-")), Counter[str]()
    warm_up(place)
    began_s = time.monotonic()
    for number in range(asked.seed, asked.seed + asked.count):
        kind, wrongs = play(number, place / str(number))
        outcomes[f"{kind}{': wrong' if wrongs else ''}"] += 1
        for wrong in wrongs:
            print(f"case {number} in {place}: {wrong}", flush=True)
        if not wrongs:
            shutil.rmtree(place / str(number))
    print(heading(f"{asked.count} supervisors around submissions and polls"))
    print("\n".join(f"{kind}: {count}" for kind, count in sorted(outcomes.items())))
    print(f"{time.monotonic() - began_s:.0f} s")


if __name__ == "__main__":
    main()
