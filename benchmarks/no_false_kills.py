"""Healthy and stalled trainings on a simulated clock: which does the supervisor end, and after how long does it notice a stall?

    .venv/bin/python -m benchmarks.no_false_kills [RUNS] [--steps 500] [--seed 0]

The policy is the real one: `engine.run.supervise`, with the state that `core.run_state` makes of the events. The trainings are drawn
(`benchmarks/simulated_trainings.py`), and so is what goes wrong in between: polls without an answer, outages of up to six hours, clocks that
jump, supervisors that are killed and begin again. Half of the runs are healthy; the others hang after a random sign of life. An outage only puts
off a notice, so none goes on beyond that. Beside it are policies with a fixed time without progress, on the same trainings and the same
polls; they begin to count at the first step.
"""

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

from benchmarks.machine import heading
from benchmarks.simulated_trainings import KINDS, Training, draw_training, reports
from holdfast.core.run.event import (
    Event,
    Liveness,
    Polled,
    Reported,
    RunRequested,
    Started,
    Starting,
    StopRequested,
    TroubleNoted,
)
from holdfast.core.run.run_state import RunState, fold
from holdfast.engine.run.actions import Note, Poll, Stop, TakeStacks
from holdfast.engine.run.supervise import Limits, supervise

POLL_S: Final = 5.0
FIXED_S: Final = (300, 600, 1800, 3600)
"""Fixed limits: 600 s and 1800 s are torch's own for NCCL and for gloo."""
LATE_S: Final = 25.0
"""How late a notice may be beside the aim: a heartbeat and three polls, of which one may be lost."""
HANGS_S: Final = 6 * 3600.0
"""How long a training that hangs is watched."""


@dataclass(frozen=True, slots=True)
class World:
    """What goes wrong between a training and its supervisor.

    Attributes:
        lost: Share of polls without an answer.
        outages: When the service does not answer, from and until, in seconds.
        jumps: When the supervisor's clock jumps, and by how much, in seconds.
        deaths: When the supervisor is killed.
    """

    lost: float
    outages: tuple[tuple[float, float], ...]
    jumps: tuple[tuple[float, float], ...]
    deaths: tuple[float, ...]

    @classmethod
    def draw(cls, dice: random.Random, end_s: float) -> "World":
        """Draw one."""
        begins = [dice.uniform(0, end_s) for _ in range(dice.randint(0, 2))]
        return cls(
            lost=dice.choice((0.0, 0.05, 0.3)),
            outages=tuple((at_s, min(at_s + dice.uniform(60, 6 * 3600), end_s)) for at_s in begins),
            jumps=tuple(
                (dice.uniform(0, end_s), dice.choice((-3600.0, 3600.0, 60.0))) for _ in range(dice.randint(0, 2))
            ),
            deaths=tuple(sorted(dice.uniform(0, end_s) for _ in range(dice.randint(0, 2)))),
        )

    def answers(self, at_s: float, dice: random.Random) -> bool:
        """True if a poll is answered."""
        return dice.random() >= self.lost and not any(begins <= at_s < ends for begins, ends in self.outages)

    def clock_s(self, at_s: float) -> float:
        """Return the supervisor's time."""
        return at_s + sum(by_s for jumps_s, by_s in self.jumps if at_s >= jumps_s)


@dataclass(slots=True)
class Outcome:
    """How a run went.

    Attributes:
        training: What was watched.
        noted_s: When a conspicuous silence was noted, each time.
        ended_s: When it was ended; None if it was not.
        gap_s: The longest time without progress, as the polls saw it.
        known_gap_s: The same without the time in which no poll was answered.
    """

    training: Training
    noted_s: list[float] = field(default_factory=list[float])
    ended_s: float | None = None
    gap_s: float = 0.0
    known_gap_s: float = 0.0


class Polls:
    """What the polls of one run bring: its reports, late or never answered."""

    def __init__(self, outcome: Outcome, world: World, dice: random.Random, until_s: float) -> None:
        self._outcome, self._world, self._dice = outcome, world, dice
        self._said = list(reports(outcome.training, until_s))
        self._read, self._progress_s, self._unknown_s = 0, 0.0, 0.0

    def look(self, now_s: float) -> list[Event]:
        """Return the events of one poll."""
        at_s, events = self._world.clock_s(now_s), list[Event]()
        if answered := self._world.answers(now_s, self._dice):
            events = [Reported(at_s=at_s, attempt=1, said=said) for said in self._arrived(now_s)]
        else:
            self._unknown_s += POLL_S
        if self._progress_s:
            gap_s = now_s - self._progress_s
            self._outcome.gap_s = max(self._outcome.gap_s, gap_s)
            self._outcome.known_gap_s = max(self._outcome.known_gap_s, gap_s - self._unknown_s)
        if any(
            each.said["event"] != "heartbeat" and each.said.get("step") for each in events if isinstance(each, Reported)
        ):
            self._progress_s, self._unknown_s = now_s, 0.0
        return [*events, Polled(at_s=at_s, attempt=1, answer=Liveness.ALIVE if answered else Liveness.UNKNOWN)]

    def _arrived(self, now_s: float) -> Iterator[Mapping[str, Any]]:
        while self._read < len(self._said) and self._said[self._read][0] <= now_s:
            yield self._said[self._read][1]
            self._read += 1


def watch(training: Training, world: World, dice: random.Random, until_s: float) -> Outcome:
    """Have a training supervised until it ends, or until it is ended."""
    outcome, state, now_s = Outcome(training), _begun(), 0.0
    polls, deaths = Polls(outcome, world, dice, until_s), [*world.deaths]
    flow = supervise(state, Limits(poll_s=POLL_S))
    action = next(flow)
    while now_s < until_s and outcome.ended_s is None:
        events = list[Event]()
        match action:
            case Poll():
                now_s += POLL_S
                if deaths and now_s > deaths[0]:  # another supervisor takes over
                    del deaths[0]
                    flow = supervise(state, Limits(poll_s=POLL_S))
                    action = next(flow)
                    continue
                events = polls.look(now_s)
            case Note(trouble):
                outcome.noted_s += [now_s] if trouble.kind == "no-progress" else []
                events = [TroubleNoted(at_s=world.clock_s(now_s), attempt=1, trouble=trouble)]
            case TakeStacks():
                pass
            case Stop(by):
                outcome.ended_s = now_s
                events = [StopRequested(at_s=world.clock_s(now_s), by=by)]
            case _:
                raise AssertionError(action)
        state = fold(events, state)
        action = flow.send(events)
    return outcome


def _begun() -> RunState:
    starting = Starting(at_s=0.0, attempt=1, backend="simulated")
    return fold([RunRequested(at_s=0.0, folder="/runs/a"), starting, Started(at_s=0.0, attempt=1, id="a/1")])


def simulate(runs: int, steps: int, seed: int) -> Iterator[tuple[bool, Outcome]]:
    """Yield the outcome of each run, with whether it hung."""
    for number in range(runs):
        dice = random.Random(f"{seed}/{number}")  # noqa: S311 - no secret
        kind = list(KINDS)[number // 2 % len(KINDS)]
        training = draw_training(kind, dice, steps)
        if hangs := number % 2 == 1:
            training = training.cut(dice.randint(2, len(training.signs)))
        until_s = training.end_s + (HANGS_S if hangs else 0.0)
        yield hangs, watch(training, World.draw(dice, training.end_s), dice, until_s)


def aim_s(training: Training) -> float:
    """Return the aim for the time until a stall is noticed."""
    return max(60.0, 5 * training.step_p95_s)


def _share(values: Sequence[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))] if values else float("nan")


def _report(outcomes: Sequence[tuple[bool, Outcome]]) -> Iterator[str]:
    yield "| trainings | healthy: ended | healthy: noted | stalled: noted after | times the aim | within the aim | ended after | without history | longer than 6 h |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for kind in (*KINDS, "all"):
        of_kind = [each for each in outcomes if kind in ("all", each[1].training.kind)]
        yield _row(kind, [one for hangs, one in of_kind if not hangs], [one for hangs, one in of_kind if hangs])
    yield ""
    healthy = [one for hangs, one in outcomes if not hangs]
    yield "| policy | healthy: ended | healthy: ended, if unanswered polls are not counted |"
    yield "|---|---|---|"
    wrongly = f"{sum(one.ended_s is not None for one in healthy)} of {len(healthy)}"
    yield f"| holdfast | {wrongly} | {wrongly} |"
    for limit_s in FIXED_S:
        ended = [
            sum(gap_s > limit_s for gap_s in gaps)
            for gaps in zip(*((one.gap_s, one.known_gap_s) for one in healthy), strict=True)
        ]
        yield f"| {limit_s} s without progress | {ended[0]} of {len(healthy)} | {ended[1]} of {len(healthy)} |"


def _row(kind: str, healthy: Sequence[Outcome], stalled: Sequence[Outcome]) -> str:
    noted = [
        (one, one.noted_s[-1] - one.training.end_s)
        for one in stalled
        if one.noted_s and one.noted_s[-1] > one.training.end_s
    ]
    ended = [one.ended_s - one.training.end_s for one in stalled if one.ended_s is not None]
    of_aim = [after_s / (aim_s(one.training) + LATE_S) for one, after_s in noted]
    within = sum(share <= 1 for share in of_aim)
    shares = f"{median(of_aim):.2f}, 95 %: {_share(of_aim, 0.95):.2f}" if of_aim else "-"
    times = [
        f"{median(found):.0f} s, 95 %: {_share(found, 0.95):.0f} s" if found else "-"
        for found in ([s for _, s in noted], ended)
    ]
    healthily = f"{sum(one.ended_s is not None for one in healthy)} of {len(healthy)} | {sum(bool(one.noted_s) for one in healthy)}"
    silent = len(stalled) - len(noted)
    late = len(noted) - len(ended)
    return (
        f"| {kind} | {healthily} | {times[0]} | {shares} | {within} of {len(noted)} | {times[1]} | {silent} | {late} |"
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="?", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print(heading("no_false_kills"), flush=True)
    outcomes = list(simulate(asked.runs, asked.steps, asked.seed))
    print("\n".join(_report(outcomes)))
    for hangs, one in outcomes:
        if not hangs and one.ended_s is not None:
            print(f"ended wrongly: {one.training.kind} at {one.ended_s:.0f} s of {one.training.end_s:.0f}")


if __name__ == "__main__":
    main()
