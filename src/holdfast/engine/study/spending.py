"""What a study has used of its budget, and what is left to run."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Final

from holdfast.core.job_file.job import Job
from holdfast.core.plan.estimate import Interval
from holdfast.core.run.event import Event, Reported
from holdfast.core.run.training_event import StepDone, TrainingStarted
from holdfast.core.study.study import StudyBudget
from holdfast.core.study.trial import TrialOutcome
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
    _counted: dict[str, float] = field(default_factory=dict[str, float])

    def add(self, run: str, seconds: float, job: Job, *, ended: bool = True) -> None:
        """Add what a run has used since it was added before.

        Args:
            run: Its name.
            seconds: How long it has run in all.
            job: Its job.
            ended: Whether its trial has ended; one that was interrupted is continued, and counts as a trial then.
        """
        more = seconds - self._counted.get(run, 0.0)
        self._counted[run] = seconds
        self.trials += ended
        self.seconds += more
        self.usd += more / HOUR_S * (self.price_of(job) or 0.0)

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


def stepped_s(events: Iterable[Event]) -> float:
    """Return how long the steps of a run's attempts took, by the clock of the training: without start-up, and without what follows the last step."""
    spans: dict[int, tuple[float, float]] = {}
    for event in events:
        said = event.training_event if isinstance(event, Reported) else None
        if isinstance(event, Reported) and said and said.at is not None:
            if isinstance(said, TrainingStarted):
                spans[event.attempt] = (said.at, said.at)
            elif isinstance(said, StepDone) and event.attempt in spans:
                spans[event.attempt] = (spans[event.attempt][0], said.at)
    return sum(max(0.0, end - begin) for begin, end in spans.values())


def trial_seconds(ended: Sequence[TrialOutcome], steps: Iterable[int | None]) -> Interval | None:
    """Return how long a trial takes, by those that have ended; None if none has.

    This is the mean, and twice the spread to each side, but no less than the quickest took. Only the time of their steps is scaled to other steps.

    Args:
        ended: The trials that have ended.
        steps: How many steps the others have; None of one that does not say.
    """
    if not ended:
        return None
    intervals = [_interval([_scaled_s(each, wanted) for each in ended]) for wanted in {*steps}]
    middle = fmean(each.value for each in intervals)
    return Interval(middle, min(each.low for each in intervals), max(each.high for each in intervals))


def _scaled_s(ended: TrialOutcome, steps: int | None) -> float:
    """Return how long a trial would have taken with so many steps."""
    factor = steps / ended.steps if steps and ended.steps else 1.0
    return ended.seconds + min(ended.stepped_s, ended.seconds) * (factor - 1)


def _interval(seconds: Sequence[float]) -> Interval:
    mean = fmean(seconds)
    spread = stdev(seconds) if len(seconds) >= FEWEST else mean / 2
    return Interval(mean, max(min(seconds), mean - 2 * spread), mean + 2 * spread)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


NOTHING_LEFT: Final = estimate_remaining(0, 0, 0, 1, None, None, because="")
