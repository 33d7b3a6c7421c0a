"""What a study has used of its budget, and what is left to run."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Final

from holdfast.core.job_file.job import Job
from holdfast.core.plan.estimate import Interval
from holdfast.core.study.study import StudyBudget
from holdfast.engine.units import render_counted, render_duration
from holdfast.results.study import StudyEstimate

HOUR_S: Final = 3600.0
PriceOf = Callable[[Job], float | None]
"""Gives the price of an hour on a job's hardware, in USD; None if it has none."""
FEWEST: Final = 2


@dataclass(slots=True)
class Spending:
    """What the trials of a study have used.

    Attributes:
        price_of: Gives the price of a job's hardware.
        trials: How many have ended.
        seconds: How long they ran, added up.
        usd: What they cost.
    """

    price_of: PriceOf
    trials: int = 0
    seconds: float = 0.0
    usd: float = 0.0

    def add(self, seconds: float, job: Job) -> None:
        """Add a trial that has ended."""
        self.trials += 1
        self.seconds += seconds
        self.usd += seconds / HOUR_S * (self.price_of(job) or 0.0)

    def used_up(self, budget: StudyBudget, running: int) -> str:
        """Return why no other trial may start; empty if one may.

        Args:
            budget: The budget.
            running: How many trials are under way.
        """
        if budget.trials is not None and self.trials + running >= budget.trials:
            ended = (
                f": {self.trials} have ended, those before it was set included" if self.trials > budget.trials else ""
            )
            return f"the budget of {render_counted(budget.trials, 'trial')} is used up{ended}"
        if budget.hours is not None and self.seconds >= budget.hours * HOUR_S:
            return f"the budget of {budget.hours:g} hours is used up: trials ran for {render_duration(self.seconds)}"
        if budget.usd is not None and self.usd >= budget.usd:
            return f"the budget of ${budget.usd:.2f} is used up: trials cost ${self.usd:.2f}"
        return ""

    def permitted(self, budget: StudyBudget, count: int) -> int:
        """Return how many of so many trials the budget may still start."""
        if self.used_up(budget, running=0):
            return 0
        return count if budget.trials is None else min(count, budget.trials - self.trials)


def estimate_remaining(  # noqa: PLR0913 - each is a fact of its own
    count: int,
    permitted: int,
    rehearsals: int,
    parallel: int,
    trial: Interval | None,
    usd_per_hour: float | None,
    *,
    because: str,
) -> StudyEstimate:
    """Return what is left to run.

    Args:
        count: How many trials have still to run.
        permitted: How many of them the budget permits; time and cost are theirs.
        rehearsals: How many shapes are among them.
        parallel: How many run at once.
        trial: The seconds of one trial; None if unknown.
        usd_per_hour: The price of its hardware; None if it has none.
        because: What the seconds rest on, or why they are unknown.
    """
    rounds = math.ceil(permitted / parallel)
    low, high = (rounds * trial.low, rounds * trial.high) if trial else (None, None)
    hours = (permitted * trial.low / HOUR_S, permitted * trial.high / HOUR_S) if trial and usd_per_hour else None
    return StudyEstimate(
        trials=count,
        permitted=permitted,
        rehearsals=rehearsals,
        low_s=_rounded(low),
        high_s=_rounded(high),
        trial_low_s=_rounded(trial.low if trial else None),
        trial_high_s=_rounded(trial.high if trial else None),
        low_usd=_rounded(hours[0] * usd_per_hour) if hours and usd_per_hour else None,
        high_usd=_rounded(hours[1] * usd_per_hour) if hours and usd_per_hour else None,
        because=because,
    )


def trial_seconds(seconds: Sequence[float]) -> Interval | None:
    """Return how long a trial takes, by those that have ended: the mean, and twice its spread to each side; None if none has."""
    if not seconds:
        return None
    mean = fmean(seconds)
    spread = stdev(seconds) if len(seconds) >= FEWEST else mean / 2
    return Interval(mean, max(0.0, mean - 2 * spread), mean + 2 * spread)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
