"""Many runs whose machines fail, under one supervisor, on a simulated clock: which share of their time trains steps that count?

    .venv/bin/python -m benchmarks.goodput [RUNS] [--hours 24] [--mtbf 3]

The policy is the real one: `engine.run.supervise` decides, with the state that `core.run_state` makes of the events, and
`engine.recover.policy` whether and when another attempt follows. Simulated are the trainings and their failures: the time between two of them is
exponential; of ten, seven lose the machine, two are a network that fails, and one is a training that hangs. A run starts again after its queue
and its imports, from its newest checkpoint. Goodput is the time of the steps that a run had to do, divided by the time from its first
submission to its end. Beside it is what remains if failures were noticed at once and followed by another attempt without a pause: no
supervisor can do more with these checkpoints. All runs are supervised at once; processor time and memory are those of the supervisor.
"""

import argparse
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any, Final, Literal

import psutil

from benchmarks.machine import heading
from holdfast.core.run.event import (
    Diagnosed,
    Event,
    Liveness,
    Polled,
    Reported,
    RunRequested,
    RunStage,
    Started,
    Starting,
    StopRequested,
    TroubleNoted,
)
from holdfast.core.run.run_state import RunState, fold
from holdfast.engine.recover.policy import decide
from holdfast.engine.run.actions import Action, Close, FindCause, Kill, Note, Pause, Poll, Start, Stop
from holdfast.engine.run.supervise import Limits, supervise

POLL_S: Final = 5.0
REPORT_S: Final = 60.0
"""Seconds between two logged steps."""
ATTEMPTS: Final = 1000
Failure = Literal["machine", "network", "hang"]
FAILURES: Final[Sequence[Failure]] = ("machine",) * 7 + ("network",) * 2 + ("hang",)
CAUSES: Final = {
    "machine": ("job-preempted-or-requeued", 0.9),
    "network": ("hub-download-transient", 0.88),
    "hang": ("training-stalled", 0.86),
}


@dataclass(frozen=True, slots=True)
class Costs:
    """What a training pays for being interrupted.

    Attributes:
        save_s: Seconds that a save stops it.
        start_s: Seconds from a submission to its first step.
        every_s: Seconds of training between two saves.
    """

    save_s: float
    start_s: float
    every_s: float

    @classmethod
    def best(cls, save_s: float, start_s: float, mtbf_s: float) -> "Costs":
        """Return the costs with the best time between two saves (Young 1974)."""
        return cls(save_s, start_s, (2 * save_s * mtbf_s) ** 0.5)

    def trained_s(self, ran_s: float) -> float:
        """Return the seconds of training that so many seconds after the start have done."""
        cycles, rest_s = divmod(max(ran_s - self.start_s, 0.0), self.every_s + self.save_s)
        return cycles * self.every_s + min(rest_s, self.every_s)

    def saved_s(self, ran_s: float) -> float:
        """Return the seconds of training that are in the newest checkpoint."""
        return max(ran_s - self.start_s, 0.0) // (self.every_s + self.save_s) * self.every_s


@dataclass(slots=True)
class SimulatedRun:
    """A run, its supervisor and its training.

    Attributes:
        costs: What interruptions cost.
        work_s: Seconds of training that it has to do.
        mtbf_s: Mean seconds between two failures.
        dice: For all that is drawn.
        poll_s: Seconds between two polls.
        now_s: Its clock.
        done_s: Seconds of training that are in its newest checkpoint.
        ideal_s: Seconds that it would have taken if every failure had been noticed and followed at once.
        stage: How it ended; None while it goes on.
    """

    costs: Costs
    work_s: float
    mtbf_s: float
    dice: random.Random
    poll_s: float
    now_s: float = 0.0
    done_s: float = 0.0
    ideal_s: float = 0.0
    stage: RunStage | None = None
    attempts: int = 0
    _began_s: float = 0.0
    _fails_s: float = 0.0
    _reported_s: float = 0.0
    _failure: Failure = "machine"
    _is_stopped: bool = False
    _flow: Any = None
    _action: Action | None = None
    state: RunState = field(default_factory=RunState)

    def advance(self, until_s: float) -> None:
        """Supervise until a time, or until it ends."""
        if self._flow is None:
            self.state = fold([RunRequested(at_s=0.0, folder="/runs/a")])
            self._flow = supervise(self.state, Limits(attempts=ATTEMPTS, poll_s=self.poll_s))
            self._action = next(self._flow)
        while self.now_s < until_s and self.stage is None and self._action is not None:
            events = self._carry_out(self._action)
            self.state = fold(events, self.state)
            if self.stage is None:
                self._action = self._flow.send(events)

    def _carry_out(self, action: Action) -> Sequence[Event]:
        match action:
            case Start(number):
                return self._start(number)
            case Poll(after_s):
                self.now_s += after_s
                return self._poll()
            case Pause(for_s):
                self.now_s += for_s
            case Kill():
                self._is_stopped = True
            case Close(stage):
                self.stage = stage
            case _:
                return self._decide(action)
        return ()

    def _decide(self, action: Action) -> Sequence[Event]:
        """Return the events of an action that only writes something down."""
        match action:
            case Note(trouble):
                return (TroubleNoted(at_s=self.now_s, attempt=self.attempts, trouble=trouble),)
            case Stop(by):
                return (StopRequested(at_s=self.now_s, by=by),)
            case FindCause(attempts):
                name, sure = CAUSES[self._failure]
                at: dict[str, Any] = {"at_s": self.now_s, "attempt": self.attempts}
                return decide(
                    Diagnosed(**at, name=name, title=name, retry="yes", confidence=sure),
                    self.state,
                    attempts,
                    plan=None,
                )
            case _:
                return ()

    def _start(self, number: int) -> Sequence[Event]:
        self.attempts, self._began_s, self._reported_s, self._is_stopped = number, self.now_s, 0.0, False
        self._fails_s = self.now_s + self.dice.expovariate(1 / self.mtbf_s)
        self._failure = self.dice.choice(FAILURES)
        starting = Starting(at_s=self.now_s, attempt=number, backend="simulated")
        return starting, Started(at_s=self.now_s, attempt=number, id=f"a/{number}")

    def _poll(self) -> Sequence[Event]:
        left_s = self.work_s - self.done_s
        ends_s = min(self.now_s, self._fails_s)
        ran_s = ends_s - self._began_s
        if self.costs.trained_s(ran_s) >= left_s:
            self.ideal_s += ran_s
            return *self._said({"event": "end", "status": "finished", **self._step(left_s)}), self._polled(0)
        if self.now_s >= self._fails_s and (self._failure != "hang" or self._is_stopped):
            self.ideal_s += ran_s
            self.done_s += self.costs.saved_s(ran_s)
            return (self._polled(-9),)
        said = [self._heartbeat(self.now_s - ends_s)] if self.now_s - self._reported_s >= REPORT_S else []
        if said:
            self._reported_s = self.now_s
            trained_s = self.costs.trained_s(ran_s)
            if trained_s and self.now_s < self._fails_s:
                said.append({"event": "step", "activity": "step", "idle_s": 5.0, **self._step(trained_s)})
        return *self._said(*said), self._polled(None)

    def _step(self, trained_s: float) -> dict[str, int]:
        return {"step": int(self.done_s + trained_s), "max_steps": int(self.work_s)}

    def _heartbeat(self, idle_s: float) -> dict[str, Any]:
        ran_s = self.now_s - self._began_s
        return {
            "event": "heartbeat",
            "activity": "step" if ran_s > self.costs.start_s else "load",
            "idle_s": max(idle_s, 1.0),
        }

    def _said(self, *said: dict[str, Any]) -> Sequence[Event]:
        return [Reported(at_s=self.now_s, attempt=self.attempts, said=each) for each in said]

    def _polled(self, code: int | None) -> Polled:
        answer = Liveness.ALIVE if code is None else Liveness.ENDED
        return Polled(at_s=self.now_s, attempt=self.attempts, answer=answer, exit_code=code)


def simulate(
    runs: int, costs: Costs, hours: float, mtbf_hours: float, poll_s: float = POLL_S, seed: int = 0
) -> list[SimulatedRun]:
    """Return the runs, supervised at once until all have ended."""
    made = [
        SimulatedRun(costs, hours * 3600, mtbf_hours * 3600, random.Random(f"{seed}/{number}"), poll_s)  # noqa: S311 - no secret
        for number in range(runs)
    ]
    until_s, left = 0.0, made
    while left:
        until_s += 3600.0
        for each in left:
            each.advance(until_s)
        left = [each for each in left if each.stage is None]
    return made


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="?", type=int, default=1000)
    parser.add_argument("--hours", type=float, default=24.0, help="of training in each run")
    parser.add_argument("--poll", type=float, default=POLL_S, help="seconds between two polls")
    parser.add_argument("--mtbf", type=float, default=3.0, help="mean hours between two failures of a run")
    asked = parser.parse_args()
    print(heading(f"goodput of {asked.runs} runs of {asked.hours:g} h, one failure in {asked.mtbf:g} h"), flush=True)
    print(
        "\n| a save takes | a start takes | saves every | goodput | without detection and pauses | attempts | ended well | processor, a run | memory, a run |"
        "\n|---|---|---|---|---|---|---|---|---|"
    )
    for save_s, start_s in ((1.0, 60.0), (5.0, 60.0), (5.0, 180.0), (30.0, 180.0)):
        costs = Costs.best(save_s, start_s, asked.mtbf * 3600)
        before_bytes, begun_s = psutil.Process().memory_info().rss, time.process_time()
        done = simulate(asked.runs, costs, asked.hours, asked.mtbf, asked.poll)
        took_s = (time.process_time() - begun_s) / asked.runs
        memory = (psutil.Process().memory_info().rss - before_bytes) / asked.runs / 1000
        ended = [each for each in done if each.stage is RunStage.SUCCEEDED]
        good = sum(each.work_s for each in ended) / sum(each.now_s for each in ended)
        ideal = sum(each.work_s for each in ended) / sum(each.ideal_s for each in ended)
        cells = (f"{save_s:g} s", f"{start_s:g} s", f"{costs.every_s:.0f} s", f"{good:.1%}", f"{ideal:.1%}")
        rest = (
            f"{mean(each.attempts for each in done):.1f}",
            f"{len(ended)} of {asked.runs}",
            f"{took_s:.2f} s",
            f"{memory:.0f} kB",
        )
        print(f"| {' | '.join((*cells, *rest))} |", flush=True)


if __name__ == "__main__":
    main()
