"""Runs whose supervisor, training process or both are killed; one `holdfast resume` has to bring each to its end.

    .venv/bin/python -m benchmarks.kills [COUNT] [--workers 2] [--seed 0] [--stand-in]

A case is drawn by its number: who is killed, when (at a random time, or before a random write to the folder of runs or of
checkpoints). A third of the cases kill a second time, during `resume`. Then one `resume` is left alone. It has to succeed, with the
weights of an uninterrupted run, every step in the ledger, and never two live attempts. A failed case is printed. With `--stand-in` the
training is that of `benchmarks/stand_in`, a tenth as long.
"""

import argparse
import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from tempfile import mkdtemp
from typing import Literal

from benchmarks.machine import heading
from benchmarks.small_runs import PATIENCE_S, STEPS, SmallRun

WRITES = {"supervisor": 45, "training": 60}
"""A little more than one run makes."""

Victim = Literal["supervisor", "training", "both"]


@dataclass(frozen=True, slots=True)
class Kill:
    """Who is killed, and when.

    Attributes:
        victim: Whom.
        at: As a share of the duration of an uninterrupted run, or the number of a write.
        by_write: Whether `at` is the number of a write.
    """

    victim: Victim
    at: float
    by_write: bool

    @classmethod
    def draw(cls, dice: random.Random) -> "Kill":
        """Draw one."""
        victim: Victim = dice.choice(("supervisor", "training", "both"))
        if by_write := dice.choice((True, False)):
            return cls(victim, dice.randint(1, WRITES["training" if victim == "training" else "supervisor"]), by_write)
        return cls(victim, dice.uniform(0.0, 1.1), by_write)

    @property
    def variables(self) -> dict[str, str]:
        """What has a process kill itself before a write."""
        name = "TRAINING_KILLED_AT" if self.victim == "training" else "SUPERVISOR_KILLED_AT"
        return {name: f"{self.at:.0f}"} if self.by_write else {}

    def inflict(self, run: SmallRun, supervisor: "Popen[str]", whole_s: float) -> None:
        """Wait for the moment, and kill; return when the supervisor has ended."""
        if not self.by_write:
            wait(supervisor, self.at * whole_s)
            if self.victim != "training":
                supervisor.kill()
            if self.victim != "supervisor":
                run.kill_training()
        supervisor.communicate(timeout=PATIENCE_S)
        if self.victim == "both":
            run.kill_training()


@dataclass(frozen=True, slots=True)
class Case:
    """What became of one run.

    Attributes:
        kills: Those that were tried on it.
        interrupted: True if it was not at its end before the last `resume`.
        wrongs: What should not be; empty where all is well.
    """

    kills: tuple[Kill, ...]
    interrupted: bool
    wrongs: tuple[str, ...]


def wait(process: "Popen[str]", seconds: float) -> None:
    """Wait some seconds, and no longer than a process lives."""
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)


def play(number: int, folder: Path, straight: SmallRun, whole_s: float) -> Case:
    """Play one case."""
    dice = random.Random(number)  # noqa: S311 - no secret
    run = SmallRun.make(folder, stand_in=straight.stand_in)
    kills = [Kill.draw(dice) for _ in range(1 + (dice.random() < 1 / 3))]
    kills[0].inflict(run, run.launch(**kills[0].variables), whole_s)
    if not run.name:  # nothing was begun
        run.launch().communicate(timeout=PATIENCE_S)
    for kill in kills[1:]:
        if run.state().stage != "succeeded":
            kill.inflict(run, run.start("resume", run.name, "--quiet", **kill.variables), whole_s)
    time.sleep(dice.uniform(0, 1))
    wrongs: list[str] = []
    if interrupted := run.state().stage != "succeeded":
        code, printed = run.resume()
        wrongs += [f"`resume` ended with {code}: {printed}"] if code else []
    else:  # a supervisor that was killed before it wrote the report leaves that to the next command that looks
        run.start("show", run.name).communicate(timeout=PATIENCE_S)
    wrongs += judge(run, straight.weights())
    if not wrongs:
        shutil.rmtree(folder)
    return Case(tuple(kills), interrupted, tuple(wrongs))


def judge(run: SmallRun, weights: bytes) -> Iterator[str]:
    """Yield what should not be, at the end of a run."""
    state = run.state()
    if state.stage != "succeeded":
        yield f"the run ended as {state.stage}: {state.because}"
    if (run.folder / "twice.txt").exists():
        yield "two attempts lived at once"
    if run.training():
        yield "a training process still lives"
    if lost := {*range(1, STEPS + 1)} - run.steps():
        yield f"steps {sorted(lost)} are not in the ledger"
    if run.weights() != weights:
        yield "the weights differ"
    if not (run.runs / run.name / "report.html").exists():
        yield "there is no report"


def main() -> None:
    """Measure and print."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("count", nargs="?", type=int, default=1000)
    words.add_argument("--workers", type=int, default=2)
    words.add_argument("--seed", type=int, default=0, help="the number of the first case")
    words.add_argument("--stand-in", action="store_true", help="train with the stand-in")
    asked = words.parse_args()
    place = Path(mkdtemp(prefix="kills-"))  # which keeps the cases that fail
    straight = SmallRun.make(place / "straight", stand_in=asked.stand_in)
    began_s = time.monotonic()
    straight.launch().communicate(timeout=PATIENCE_S)
    whole_s = time.monotonic() - began_s
    if wrongs := [*judge(straight, straight.weights())]:
        raise SystemExit(f"the uninterrupted run: {wrongs}")
    cases = Counter[tuple[str, str]]()
    with ThreadPoolExecutor(asked.workers) as pool:
        numbers = range(asked.seed, asked.seed + asked.count)
        for number, case in zip(
            numbers, pool.map(lambda n: play(n, place / str(n), straight, whole_s), numbers), strict=True
        ):
            outcome = "wrong" if case.wrongs else "resumed" if case.interrupted else "ended by itself"
            cases[case.kills[0].victim, outcome] += 1
            for wrong in case.wrongs:
                print(f"case {number} {case.kills} in {place}: {wrong}", flush=True)
    outcomes = ("resumed", "ended by itself", "wrong")
    print(heading(f"killed runs{', trained by the stand-in' if straight.stand_in else ''}"))
    print(f"{'killed':<12}" + "".join(f"{outcome:>18}" for outcome in outcomes))
    for victim in ("supervisor", "training", "both"):
        print(f"{victim:<12}" + "".join(f"{cases[victim, outcome]:>18}" for outcome in outcomes))
    print(
        f"{sum(cases.values())} runs, {sum(n for (_, outcome), n in cases.items() if outcome == 'wrong')} of them wrong"
    )


if __name__ == "__main__":
    main()
