"""How long the trials of a study will take, and what they will cost."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice

from holdfast.adapters.targets import Target
from holdfast.app.hub_access import HubAccess
from holdfast.app.run.estimating import estimate_seconds, find_prices
from holdfast.app.study.preparing import PreparedTrial
from holdfast.app.study.queue import distinct
from holdfast.app.study.reading import StudyFile
from holdfast.catalog.hub.flavors import with_catalog_price
from holdfast.core.errors import HoldfastError
from holdfast.core.job.document import Document
from holdfast.core.job_file.job import Job
from holdfast.core.plan.estimate import Interval
from holdfast.core.plan.hardware import PriceList
from holdfast.core.run.backends import capabilities_of
from holdfast.core.run.event import RunStage
from holdfast.core.study.study import Study
from holdfast.core.study.trial import TrialOutcome
from holdfast.core.text.numbers import is_count
from holdfast.engine.study.headline import describe_remaining
from holdfast.engine.study.spending import NOTHING_LEFT, Spending, estimate_remaining, trial_seconds
from holdfast.engine.units import render_counted
from holdfast.results.study import StudyEstimate

NO_TIME = "time is not known: no trial has ended yet, and the job names no GPU whose speed is known"


@dataclass(slots=True)
class StudyPrices:
    """What the hardware of trials costs. The Hub is contacted once, when a price is first needed.

    Attributes:
        document: The job that trials vary.
        hub: Whether the Hub is contacted.
    """

    document: Document
    hub: HubAccess
    _listed: PriceList | None = None

    def __call__(self, job: Job) -> float | None:
        """Return the price of an hour on a job's hardware, in USD; None if it has none."""
        name = job.where.hardware or ""
        self._listed = self._listed or find_prices(self.document, job.where.backend, self.hub)
        if self._listed is None or not capabilities_of(job.where.backend).has_flavors:
            return None
        price = with_catalog_price(self._listed.usd_per_hour, name).get(name)
        return None if price is None else price * job.where.nodes


def estimate_study(
    waiting: Sequence[PreparedTrial],
    proposed: Sequence[PreparedTrial],
    outcomes: Sequence[TrialOutcome],
    study: Study,
    spending: Spending,
    prices: StudyPrices,
) -> StudyEstimate:
    """Return what is left to run.

    Args:
        waiting: The trials that have still to run.
        proposed: As many trials as a search will still propose, each the one that it is taken to be like.
        outcomes: What became of the others.
        study: The study.
        spending: What it has used of its budget.
        prices: What the hardware of trials costs.
    """
    left = distinct(waiting)
    shapes = {each.shape for each in left}
    count, first = len(left) + len(proposed), next(chain(left, proposed), None)
    if first is None:
        return NOTHING_LEFT
    ended = [each for each in outcomes if each.stage is RunStage.SUCCEEDED]
    steps = (each.job.train.get("max_steps") for each in (*left, *proposed))
    seconds = trial_seconds(ended, (each if is_count(each) else None for each in steps))
    because = f"the {render_counted(len(ended), 'ended trial')}"
    if seconds is None:
        seconds, because = _planned(first.target, prices.hub)
    permitted, price = spending.permitted(study.budget, count), prices(first.job)
    return estimate_remaining(count, permitted, len(shapes), study.parallel, seconds, price, because=because)


def estimate_first(file: StudyFile, count: int, prices: StudyPrices) -> Iterator[str]:
    """Yield how long so many trials take and what they cost, by the plan of the first: before any other is looked at."""
    with suppress(HoldfastError, ExceptionGroup):  # what is wrong with the first is reported with everything else
        target = file.target_of(file.trials[0])
        seconds, because = _planned(target, prices.hub)
        price = prices(target.job) if target.job else None
        remaining = estimate_remaining(count, count, 1, file.study.parallel, seconds, price, because=because)
        yield from islice(describe_remaining(remaining), 1, None)


def _planned(target: Target, hub: HubAccess) -> tuple[Interval | None, str]:
    """Return how long a trial takes by the plan of its job, and why that is not known."""
    seconds, because = estimate_seconds(target, hub)
    return seconds, "the plan of the first trial" if seconds else because or NO_TIME
