"""The difference of two models on the same rows: its interval, its test, and whether it decides anything.

Source: for shares Bonett and Price 2012 (the adjusted Wald interval of paired shares) and McNemar's exact test; otherwise the
paired bootstrap, and a randomization test that swaps the models' rows.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from scipy.stats import binomtest

from holdfast.catalog.metrics import Metric
from holdfast.engine.evaluate.arrays import FloatArray, IntArray, sum_clusters
from holdfast.engine.evaluate.combining import combine
from holdfast.engine.evaluate.intervals import (
    MOST_NUMBERS,
    RESAMPLES,
    SEED,
    Z,
    bootstrap,
    expanded_ends,
    is_share,
)

ComparisonVerdict = Literal["better", "worse", "undecided"]
POWER_Z: Final = 0.8416212335729143
"""The 80th percentile of the normal distribution: a difference of this size is then found four times out of five."""
ROUNDING: Final = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A model beside its base.

    Attributes:
        base: The base's value.
        difference: The model's value less the base's.
        low: The lower end of its interval; None if there are too few rows for one, or no row differs.
        high: Its upper end.
        p_value: The probability of such a difference if there were none; None if nothing tests it.
        test: How that was computed.
        verdict: Whether the interval lies on one side of 0, and on which.
        rows_needed: With how many rows a difference of this size would be found, four times out of five; None if it was,
            or where there is none to find.
    """

    base: float
    difference: float
    low: float | None
    high: float | None
    p_value: float | None
    test: str
    verdict: ComparisonVerdict
    rows_needed: int | None


def compare(metric: Metric, model: FloatArray, base: FloatArray, clusters: IntArray | None = None) -> Comparison:
    """Return the comparison of two models on the same rows.

    Args:
        metric: The metric.
        model: float64, (rows, parts): the model's measures.
        base: The base's, of the same rows in the same order.
        clusters: int64, (rows,): which rows belong together; None where each is its own.
    """
    values = [float(combine(metric.combination, each.sum(axis=0, keepdims=True))[0]) for each in (model, base)]
    difference = values[0] - values[1]
    if clusters is None and is_share(metric, np.vstack([model, base])):
        changes = _changes(model, base)
        (low, high), p_value, test = paired_shares(*changes), mcnemar(*changes[:2]), "exact McNemar"
    else:
        pairs = np.hstack([sum_clusters(model, clusters), sum_clusters(base, clusters)])
        low, high = bootstrap(lambda sums: _difference(metric, sums), pairs)
        p_value, test = _randomized(metric, pairs), "paired randomization"
    return _comparison(metric, values[1], difference, (low, high), len(model), p_value=p_value, test=test)


def compare_resampled(
    metric: Metric, value: float, base: float, draws: FloatArray, base_draws: FloatArray, rows: int
) -> Comparison:
    """Return the comparison of two models by their values for the same resamples of the rows; it has no test.

    Args:
        metric: The metric.
        value: The model's value.
        base: The base's.
        draws: float64, (resamples,): the model's values.
        base_draws: The base's, for the same resamples; either is empty if there are none.
        rows: How many rows were resampled.
    """
    there = min(len(draws), len(base_draws))
    ends = expanded_ends(draws[:there] - base_draws[:there], rows)
    return _comparison(metric, base, value - base, ends, rows, p_value=None, test="")


def _comparison(  # noqa: PLR0913 - what a comparison consists of
    metric: Metric,
    base: float,
    difference: float,
    ends: tuple[float, float],
    rows: int,
    *,
    p_value: float | None,
    test: str,
) -> Comparison:
    """Return a comparison; without an interval where there are too few rows for one, or none in which the models differ."""
    low, high = ends
    # Rows that the models do not differ in at all do not tell how they may differ in others.
    if any(map(math.isnan, (difference, low, high))) or low == high == 0:
        return Comparison(
            base=base,
            difference=difference,
            low=None,
            high=None,
            p_value=None,
            test="",
            verdict="undecided",
            rows_needed=None,
        )
    verdict = _verdict(low, high, lower_is_better=metric.lower_is_better)
    return Comparison(
        base=base,
        difference=difference,
        low=low,
        high=high,
        p_value=p_value,
        test=test,
        verdict=verdict,
        rows_needed=_rows_for(difference, (high - low) / (2 * Z), rows) if verdict == "undecided" else None,
    )


def _changes(model: FloatArray, base: FloatArray) -> tuple[int, int, int]:
    """Return how many rows only the model has right, how many only the base, and how many there are."""
    both = (model[:, 1] > 0) & (base[:, 1] > 0)
    gained = int((both & (model[:, 0] > base[:, 0])).sum())
    return gained, int((both & (model[:, 0] < base[:, 0])).sum()), int(both.sum())


def paired_shares(gained: int, lost: int, rows: int) -> tuple[float, float]:
    """Return the interval of the difference of two shares of the same rows.

    >>> [round(end, 2) for end in paired_shares(12, 2, 100)]
    [0.02, 0.17]
    """
    if not rows:
        return math.nan, math.nan
    more, less = (gained + 1) / (rows + 2), (lost + 1) / (rows + 2)
    half = Z * math.sqrt((more + less - (more - less) ** 2) / (rows + 2))
    return max(-1.0, more - less - half), min(1.0, more - less + half)


def mcnemar(gained: int, lost: int) -> float:
    """Return the exact two-sided probability of so uneven a change.

    >>> round(mcnemar(12, 2), 3), mcnemar(0, 0)
    (0.013, 1.0)
    """
    return float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0


def _difference(metric: Metric, sums: FloatArray) -> FloatArray:
    model, base = np.hsplit(sums, 2)
    return combine(metric.combination, model) - combine(metric.combination, base)


def _randomized(metric: Metric, pairs: FloatArray) -> float:
    """Return how often a difference as large comes about where the models' rows are swapped at random."""
    model, base = np.hsplit(pairs, 2)
    random, count = np.random.default_rng(SEED), len(pairs)
    seen = abs(float(_difference(metric, pairs.sum(axis=0, keepdims=True))[0]))
    at_once = max(1, min(RESAMPLES, MOST_NUMBERS // count))
    larger = 0
    for start in range(0, RESAMPLES, at_once):
        swapped = random.integers(0, 2, (min(at_once, RESAMPLES - start), count)).astype(np.float64)
        change = swapped @ (base - model)
        drawn = np.hstack([model.sum(axis=0) + change, base.sum(axis=0) - change])
        larger += int((np.abs(_difference(metric, drawn)) >= seen - ROUNDING).sum())
    return (larger + 1) / (RESAMPLES + 1)


def _verdict(low: float, high: float, *, lower_is_better: bool) -> ComparisonVerdict:
    if low <= 0 <= high:
        return "undecided"
    return "better" if (low > 0) is not lower_is_better else "worse"


def _rows_for(difference: float, error: float, rows: int) -> int | None:
    """Return the rows with which a difference of this size would be found, from its standard error."""
    if abs(difference) < ROUNDING or not error:
        return None
    return max(rows + 1, math.ceil(rows * ((Z + POWER_Z) * error / difference) ** 2))
