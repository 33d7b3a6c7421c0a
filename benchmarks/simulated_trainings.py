"""Trainings on a simulated clock: when each of them gives a sign of life, and what its process reports of that.

The numbers are drawn, not measured: nobody publishes the step times of jobs that hang. So each kind is drawn wider than what we have seen.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from math import exp, log
from typing import Any, Final

HEARTBEAT_S: Final = 10.0
"""As `payload/runtime.py` has it."""
PAUSES_S: Final = 1800.0
"""Mean time between two pauses that the training is not to blame for: storage, a network, another job on the node."""
PAUSE_MEDIAN_S: Final = 8.0
PAUSE_SIGMA: Final = 1.0
LONGEST_PAUSE_S: Final = 480.0
SLOW_SAVES: Final = 0.1


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign of life.

    Attributes:
        at_s: Seconds since the process began.
        activity: What was done until then.
        report: What is reported then; None if nothing is.
    """

    at_s: float
    activity: str
    report: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Training:
    """A training from its first to its last sign of life.

    Attributes:
        kind: Its kind.
        signs: In order.
        step_p95_s: 95 % of its steps take at most so long.
    """

    kind: str
    signs: tuple[Sign, ...]
    step_p95_s: float

    @property
    def first_step_s(self) -> float:
        """When the first step was done."""
        return next(sign.at_s for sign in self.signs if sign.activity == "first-step")

    @property
    def end_s(self) -> float:
        """When it ends."""
        return self.signs[-1].at_s

    def cut(self, at: int) -> "Training":
        """Return the training that hangs after so many signs of life."""
        return Training(self.kind, self.signs[:at], self.step_p95_s)


StepTimes = Callable[[random.Random], Iterator[float]]


def lognormal(median: float, sigma: float) -> StepTimes:
    """Return step times whose logarithms are normal."""
    return lambda dice: (median * exp(dice.gauss(0, sigma)) for _ in count())


def stragglers(median: float, share: float, exponent: float) -> StepTimes:
    """Return even step times, a share of which is longer by a factor with a power law's tail, up to 60."""

    def times(dice: random.Random) -> Iterator[float]:
        while True:
            factor = min(dice.paretovariate(exponent), 60.0) if dice.random() < share else 1.0
            yield median * exp(dice.gauss(0, 0.1)) * factor

    return times


def periodic(short: float, long: float, every: int) -> StepTimes:
    """Return step times of which one in so many is long, as where GRPO generates for several steps at once."""
    return lambda dice: ((short if n % every else long) * exp(dice.gauss(0, 0.15)) for n in count())


def slowing(median: float, times: float, steps: int) -> StepTimes:
    """Return step times that grow, as completions do."""
    return lambda dice: (median * exp(dice.gauss(0, 0.2)) * times ** min(n / steps, 1.0) for n in count())


def compiled(median: float, share: float, compile_s: float) -> StepTimes:
    """Return step times of which a share compiles again."""

    def times(dice: random.Random) -> Iterator[float]:
        while True:
            again_s = compile_s * exp(dice.gauss(0, 0.3)) if dice.random() < share else 0.0
            yield median * exp(dice.gauss(0, 0.1)) + again_s

    return times


KINDS: Final[Mapping[str, StepTimes]] = {
    "even, 1 s": lognormal(1.0, 0.05),
    "even, 30 s": lognormal(30.0, 0.05),
    "lengths vary, 2 s": lognormal(2.0, 0.4),
    "lengths vary much, 5 s": lognormal(5.0, 0.8),
    "stragglers, 3 s": stragglers(3.0, 0.02, 1.5),
    "power law, 1 s": stragglers(1.0, 1.0, 2.5),
    "generates every 16th step": periodic(2.0, 90.0, 16),
    "grows fourfold, 10 s": slowing(10.0, 4.0, 300),
    "compiles again, 2 s": compiled(2.0, 0.01, 60.0),
}


@dataclass(slots=True)
class _Recorder:
    """Collects the signs of life of one training, with a pause now and then."""

    dice: random.Random
    now_s: float = 0.0
    longest_s: float = 0.0
    signs: list[Sign] = field(default_factory=list[Sign])
    pause_at_s: float = 0.0

    def live(self, activity: str, took_s: float, report: Mapping[str, Any] | None = None) -> None:
        """Add a sign of life after so many seconds; with a report, which has the longest silence since the one before."""
        if self.now_s + took_s > self.pause_at_s:
            took_s += min(PAUSE_MEDIAN_S * exp(self.dice.gauss(0, PAUSE_SIGMA)), LONGEST_PAUSE_S)
            self.pause_at_s = self.now_s + took_s + self.dice.expovariate(1 / PAUSES_S)
        self.now_s += took_s
        self.longest_s = max(self.longest_s, took_s)
        said = None if report is None else {**report, "idle_s": self.longest_s}
        self.signs.append(Sign(self.now_s, activity, said))
        if said is not None:
            self.longest_s = 0.0


def draw_training(kind: str, dice: random.Random, steps: int) -> Training:
    """Draw a training of a kind."""
    made = _Recorder(dice, pause_at_s=dice.expovariate(1 / PAUSES_S))
    epoch, evaluated, saved = (dice.randint(60, 200) for _ in range(3))
    evaluation_s, save_s = (exp(dice.uniform(log(low), log(high))) for low, high in ((0.2, 10), (1, 120)))
    compile_s = 60.0 if kind.startswith("compiles") else exp(dice.uniform(log(2), log(120)))
    made.live("load", exp(dice.uniform(log(10), log(1800))))
    made.signs.append(Sign(made.now_s, "load", {"event": "start", "max_steps": steps}))
    made.longest_s = 0.0
    times, taken = KINDS[kind](dice), list[float]()
    for step in range(1, steps + 1):
        first = step % epoch == 1
        taken.append(next(times))
        extra_s = compile_s * exp(dice.gauss(0, 0.3)) if first else 0.0
        activity = "first-step" if first else "step"
        made.live(
            activity, taken[-1] + extra_s, {"event": "step", "step": step, "activity": activity, "max_steps": steps}
        )
        if step % evaluated == 0:
            _evaluate(made, step, evaluation_s)
        if step % saved == 0:
            straggles = min(dice.paretovariate(2.0), 20.0) if dice.random() < SLOW_SAVES else 1.0
            made.live("save", save_s * exp(dice.gauss(0, 0.3)) * straggles, {"event": "checkpoint", "step": step})
    return Training(kind, tuple(made.signs), sorted(taken)[int(0.95 * len(taken))])


def _evaluate(made: _Recorder, step: int, batch_s: float) -> None:
    for _ in range(20):
        made.live("evaluate", batch_s * exp(made.dice.gauss(0, 0.4)))
    made.live(
        "evaluate", batch_s * exp(made.dice.gauss(0, 0.6)) * 5, {"event": "evaluate", "step": step, "metrics": {}}
    )


def reports(training: Training, until_s: float) -> Iterator[tuple[float, Mapping[str, Any]]]:
    """Yield what the process of a training reports, with the time: its signs of life, and every ten seconds how long ago the last one was."""
    beat_s, before_s = HEARTBEAT_S, 0.0
    activities = [*(sign.activity for sign in training.signs)]
    for number, sign in enumerate(training.signs):
        while beat_s < sign.at_s:
            yield beat_s, _heartbeat(activities[number], beat_s - before_s)
            beat_s += HEARTBEAT_S
        before_s = sign.at_s
        if sign.report is not None:
            yield sign.at_s, sign.report
    while beat_s < until_s:
        yield beat_s, _heartbeat(training.signs[-1].activity, beat_s - before_s)
        beat_s += HEARTBEAT_S


def _heartbeat(activity: str, idle_s: float) -> Mapping[str, Any]:
    return {"event": "heartbeat", "activity": activity, "idle_s": idle_s}
