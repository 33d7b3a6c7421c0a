"""What a study shows of each setting: its mean over seeds with its interval, and which differences are more than noise.

Source: Student's t for a mean and for paired differences; Welch 1947 for settings without common seeds; Holm 1979 for many comparisons.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any, Final, Literal

from holdfast.core.study.trial import TrialOutcome
from holdfast.core.text.json_text import render_canonical
from holdfast.engine.study.student import half_width, two_sided

FEWEST: Final = 2
"""Seeds that an interval needs."""
LEVEL: Final = 0.05
Verdict = Literal["worse", "within noise", "unknown", "other rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingSummary:
    """One setting, over its seeds.

    Attributes:
        settings: The setting, by dotted key.
        outcomes: Its trials.
        mean: The mean of the metric; None if no trial has a value.
        low: The lower end of its 95 % interval over seeds; None with fewer than two values, or if all are equal.
        high: Its upper end.
    """

    settings: Mapping[str, Any]
    outcomes: tuple[TrialOutcome, ...]
    mean: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def valued(self) -> tuple[TrialOutcome, ...]:
        """Those of its trials that have a value."""
        return tuple(each for each in self.outcomes if each.value is not None)

    @property
    def rows(self) -> set[str]:
        """What they are measured on, as hashes."""
        return {each.rows for each in self.valued}

    @property
    def values(self) -> list[float]:
        """Their values."""
        return [each.value for each in self.outcomes if each.value is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingDifference:
    """A setting beside the best one.

    Attributes:
        settings: The setting.
        difference: Its mean less that of the best.
        low: The lower end of the 95 % interval of the difference; None if noise is not known.
        high: Its upper end.
        p_value: The probability of such a difference if there were none, by Holm for as many comparisons; None if noise is not known.
        verdict: `unknown` if noise is not known; `other rows` if it was measured on other rows than the best.
    """

    settings: Mapping[str, Any]
    difference: float
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    verdict: Verdict = "unknown"


def summarize_settings(outcomes: Sequence[TrialOutcome], *, lower_is_better: bool) -> list[SettingSummary]:
    """Return the settings of a study, the best first; those without a value are last, in their order."""
    groups: dict[str, list[TrialOutcome]] = {}
    for each in outcomes:
        groups.setdefault(render_canonical(each.trial.settings), []).append(each)
    summaries = [_summary(each) for each in groups.values()]
    sign = 1 if lower_is_better else -1
    valued = [each for each in summaries if each.mean is not None]
    ranked = sorted(valued, key=lambda each: (_lacking(each, valued), sign * (each.mean or 0.0)))
    return [*ranked, *(each for each in summaries if each.mean is None)]


def _lacking(summary: SettingSummary, valued: Sequence[SettingSummary]) -> int:
    """Return how many values a setting lacks: a mean over fewer seeds is not set before one over all."""
    most = max(len(each.values) for each in valued)
    return most - len(summary.values)


def _summary(outcomes: Sequence[TrialOutcome]) -> SettingSummary:
    summary = SettingSummary(settings=outcomes[0].trial.settings, outcomes=tuple(outcomes))
    values = summary.values
    if not values:
        return summary
    interval = _interval(fmean(values), values)
    return replace(summary, mean=fmean(values), low=interval[0], high=interval[1])


def _interval(center: float, values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the t-interval of a mean. Values that are all alike do not tell how others may be."""
    if len(values) < FEWEST or not (spread := stdev(values)):
        return None, None
    half = half_width(len(values) - 1) * spread / math.sqrt(len(values))
    return center - half, center + half


def compare_with_best(summaries: Sequence[SettingSummary]) -> list[SettingDifference]:
    """Return each setting that has a value beside the first of them, which is the best. Values on other rows are not tested."""
    if not summaries or summaries[0].mean is None:
        return []
    best, *others = [each for each in summaries if each.mean is not None]
    return _by_holm([_difference(best, each) for each in others])


def _difference(best: SettingSummary, other: SettingSummary) -> SettingDifference:
    difference = SettingDifference(settings=other.settings, difference=(other.mean or 0.0) - (best.mean or 0.0))
    if best.rows != other.rows:
        return replace(difference, verdict="other rows")
    pairs = _pairs(best, other)
    found = _paired(pairs) if len(pairs) >= FEWEST else _unpaired(best.values, other.values)
    if found is None:
        return difference
    center, error, freedom = found
    half = half_width(freedom) * error
    p_value = 1 - two_sided(center / error, freedom)
    return replace(difference, low=center - half, high=center + half, p_value=p_value)


def _pairs(best: SettingSummary, other: SettingSummary) -> list[float]:
    """Return the differences of the seeds that two settings share."""
    by_seed = {each.trial.seed: each.value for each in best.valued}
    shared = [each for each in other.valued if each.trial.seed is not None and by_seed.get(each.trial.seed) is not None]
    return [(each.value or 0.0) - (by_seed[each.trial.seed] or 0.0) for each in shared]


def _paired(differences: Sequence[float]) -> tuple[float, float, int] | None:
    """Return a mean difference, its standard error and its degrees of freedom; None if all differences are equal."""
    spread = stdev(differences)
    if not spread:
        return None
    return fmean(differences), spread / math.sqrt(len(differences)), len(differences) - 1


def _unpaired(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, int] | None:
    if min(len(first), len(second)) < FEWEST:
        return None
    parts = [stdev(each) ** 2 / len(each) for each in (first, second)]
    if not sum(parts):
        return None
    below = sum(part**2 / (len(each) - 1) for part, each in zip(parts, (first, second), strict=True))
    return fmean(second) - fmean(first), math.sqrt(sum(parts)), max(1, math.floor(sum(parts) ** 2 / below))


def _by_holm(differences: Sequence[SettingDifference]) -> list[SettingDifference]:
    """Return the differences with p-values that hold for all comparisons together, and with verdicts."""
    order = sorted((each.p_value, at) for at, each in enumerate(differences) if each.p_value is not None)
    judged, largest = list(differences), 0.0
    for rank, (p_value, at) in enumerate(order):
        largest = max(largest, min(1.0, p_value * (len(order) - rank)))
        verdict: Verdict = "worse" if largest < LEVEL else "within noise"
        judged[at] = replace(differences[at], p_value=largest, verdict=verdict)
    return judged
