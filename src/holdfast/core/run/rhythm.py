"""How long a training is silent while it does a step, an evaluation, a save, and from when on its silence means something.

A sign of life is given by the main thread: a batch, a step, a file that was saved. Its process measures the time between two of them itself,
by a clock that stands still while the machine sleeps. So neither polls that are lost, nor a supervisor that was away, nor a clock that jumps
can make a healthy training look silent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Final

from holdfast.core.run.training_event import (
    CheckpointSaved,
    Evaluated,
    Heartbeat,
    StepDone,
    TrainingEvent,
    TrainingStarted,
)

WINDOW: Final = 256
"""The newest silences that are kept of an activity: enough for a 95th percentile, few enough to follow a training that slows down."""
FEW: Final = 8
"""Silences below which their 95th percentile means nothing; then the longest stands in for it."""
UNSURE: Final = 2.0
"""Times which so few silences count before anything is ended."""
LEAST_S: Final = 60.0
"""Silence below which nothing is said, however fast the steps are: a disk, a network or a scheduler may pause a process for so long."""
LEAST_STALL_S: Final = 1200.0
"""Silence below which nothing is ended: waiting costs minutes, and a pause without precedent, as of a stream that is rate-limited, may last so long."""
CONSPICUOUS: Final = 5.0
"""Times the usual silence, after which one is conspicuous."""
PATIENCE: Final = 5.0
"""Times a conspicuous silence, after which one is a stall: what was never seen before, such as a slow callback, gets so much room."""
TIMES_RECENT: Final = 1.5
"""Times the longest of the newest silences, below which none is conspicuous: one step in sixteen may be long by design."""
TIMES_LONGEST: Final = 3.0
TIMES_COMPILED: Final = 2.0
"""A step may compile again, as the first one did."""
RARE: Final = 1e-7
"""Chance that a healthy silence is as long as the tail of the silences so far allows."""
TAIL_PARTS: Final = (10, 20, 40)
"""One in so many silences makes up the tail."""
LEAST_TAIL: Final = 5
MOST_TIMES_LONGEST: Final = 100.0
CONFIDENT: Final = 1.645
"""Standard errors by which the heaviness of a tail is taken to be larger than estimated: 95 %, one-sided."""
FIRST: Final[Mapping[str, str]] = {"step": "first-step"}
"""An activity whose silences tell what may happen in another: compiling, or generating completions for several steps."""
YOUNG: Final = 64
"""Steps up to which the first one of all is taken for something that comes again."""


@dataclass(frozen=True, slots=True)
class SilenceLimits:
    """From when on a silence means something.

    Attributes:
        usual_s: 95 % of the silences are at most so long, in seconds.
        conspicuous_s: One that is longer is worth a look.
        stall_s: One that is longer is a stall.
    """

    usual_s: float
    conspicuous_s: float
    stall_s: float


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The silences of a training so far.

    Attributes:
        silences: The newest ones in seconds, by activity: `first-step`, `step`, `evaluate`, `save`.
        longest: The longest one, in seconds, by activity.
    """

    silences: Mapping[str, Sequence[float]] = field(default_factory=dict[str, Sequence[float]])
    longest: Mapping[str, float] = field(default_factory=dict[str, float])

    def after(self, activity: str, silence_s: float) -> "Rhythm":
        """Return the rhythm after an activity whose longest silence was so long.

        >>> Rhythm().after("save", 2.0).after("save", 1.0)
        Rhythm(silences={'save': (2.0, 1.0)}, longest={'save': 2.0})
        """
        kept = (*self.silences.get(activity, ()), silence_s)[-WINDOW:]
        longest_s = max(self.longest.get(activity, 0.0), silence_s)
        return Rhythm({**self.silences, activity: kept}, {**self.longest, activity: longest_s})

    def limits(self, activity: str) -> SilenceLimits | None:
        """Return the limits of an activity; None if it has not been seen, and nothing can be said of it.

        >>> Rhythm().limits("evaluate")
        >>> rhythm = Rhythm().after("first-step", 30.0)
        >>> for _ in range(20):
        ...     rhythm = rhythm.after("step", 2.0)
        >>> rhythm.limits("step")
        SilenceLimits(usual_s=2.0, conspicuous_s=60.0, stall_s=1200.0)
        """
        seen = sorted(self.silences.get(activity, ()))
        if not seen:
            return None
        longest_s = self.longest[activity]
        usual_s = seen[int(0.95 * (len(seen) - 1))] if len(seen) >= FEW else seen[-1]
        first_s = self.longest.get(FIRST.get(activity, ""), 0.0)
        recent_s = max(seen[-1], first_s) if len(seen) < YOUNG else seen[-1]
        conspicuous_s = max(LEAST_S, CONSPICUOUS * usual_s, TIMES_RECENT * recent_s)
        unsure_s = CONSPICUOUS * usual_s * (UNSURE if len(seen) < FEW else 1.0)
        heaviest_s = min(tail_silence_s(seen), MOST_TIMES_LONGEST * longest_s)
        strange_s = max(conspicuous_s, unsure_s, TIMES_COMPILED * first_s)
        unprecedented_s = max(PATIENCE * strange_s, TIMES_LONGEST * longest_s)
        stall_s = max(LEAST_STALL_S, unprecedented_s, heaviest_s)
        return SilenceLimits(usual_s, conspicuous_s, stall_s)


def follow_silence(rhythm: Rhythm, event: TrainingEvent) -> tuple[Rhythm, str, float]:
    """Return the rhythm after an event, what the training does that is silent now, and for how many seconds; empty and 0 if it has just done something.

    >>> follow_silence(Rhythm(), Heartbeat(activity="evaluate", idle_s=12.5))
    (Rhythm(silences={}, longest={}), 'evaluate', 12.5)
    """
    match event:
        case Heartbeat(activity=str(activity), idle_s=float(idle_s)):
            return rhythm, activity, idle_s
        case TrainingStarted():
            rhythm = Rhythm()  # another model, or a checkpoint whose batches are passed over first
        case StepDone(activity=str(activity), idle_s=float(idle_s)) if activity:
            rhythm = rhythm.after(activity, idle_s)
        case Evaluated(idle_s=float(idle_s)):
            rhythm = rhythm.after("evaluate", idle_s)
        case CheckpointSaved(idle_s=float(idle_s)):
            rhythm = rhythm.after("save", idle_s)
        case _:
            pass
    return rhythm, "", 0.0


def tail_silence_s(seen: Sequence[float]) -> float:
    """Return the silence that a healthy training exceeds once in `1 / RARE` times, if its tail is a power law; 0 if there are too few.

    The exponent is Hill's estimate (1975), at the edge of its confidence interval. Of several beginnings of the tail, the one with the least
    heavy tail counts: where one step in sixteen is long by design, those are no tail of the others.

    Args:
        seen: The silences so far in seconds, sorted.
    """
    sizes = [len(seen) // part for part in TAIL_PARTS if len(seen) // part >= LEAST_TAIL]
    return min((_tail_silence_s(seen, size) for size in sizes), default=0.0)


def _tail_silence_s(seen: Sequence[float], size: int) -> float:
    begins_s = seen[-size - 1]
    if begins_s <= 0:
        return 0.0
    heaviness = sum(log(each / begins_s) for each in seen[-size:]) / size
    upper = heaviness * (1 + CONFIDENT / size**0.5)
    return float(begins_s * (size / len(seen) / RARE) ** upper)
