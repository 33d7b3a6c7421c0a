"""How sure a figure is: 95 % intervals, and how many rows a narrower one needs.

Source: Wilson 1927 for shares. Otherwise the bootstrap percentile interval, expanded by Student's t as Hesterberg (2015, "What
teachers should know about the bootstrap", §5.3) has it: the plain one is too narrow where there are few rows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.stats import norm, t

from holdfast.catalog.metrics import Metric
from holdfast.engine.evaluate.arrays import FloatArray, IntArray, sum_clusters
from holdfast.engine.evaluate.combining import combine

Z: Final = 1.959963984540054
"""The 97.5th percentile of the normal distribution."""
RESAMPLES: Final = 2_000
SEED: Final = 20_261_127
MOST_NUMBERS: Final = 4_000_000
"""Random numbers that are held at once."""
FEWEST: Final = 2
"""An interval needs as many rows, or clusters."""
WANTED_HALF_WIDTH: Final = 0.05
"""Half of an interval that is narrow enough, as a share of the metric's span, or of the value of a loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFigure:
    """A value and how sure it is.

    Attributes:
        value: The value; NaN where no row has one.
        low: The lower end of the interval; None if there are too few rows for one, or all are alike.
        high: Its upper end.
        method: How the interval was made.
        rows: How many rows have a value.
        rows_needed: How many would make the interval narrow enough; None if it is, or it is not known.
    """

    value: float
    low: float | None
    high: float | None
    method: str
    rows: int
    rows_needed: int | None


def figure_of(metric: Metric, measures: FloatArray, clusters: IntArray | None) -> MetricFigure:
    """Return the value of a metric over rows, with its interval.

    Args:
        metric: The metric.
        measures: float64, (rows, parts). Of a mean, each row's value and weight.
        clusters: int64, (rows,): which rows belong together; None where each is its own.
    """
    sums = sum_clusters(measures, clusters)
    value = float(combine(metric.combination, measures.sum(axis=0, keepdims=True))[0])
    if clusters is None and is_share(metric, measures):
        rows = int(measures[:, 1].sum())
        low, high, method = *wilson(value * rows, rows), "wilson 95 %"
    else:
        rows = int(np.any(measures != 0, axis=1).sum())
        low, high = bootstrap(lambda sample: combine(metric.combination, sample), sums)
        method = "bootstrap 95 %" if clusters is None else f"bootstrap 95 % over {len(sums)} clusters"
    # Rows that are all alike do not tell how others may be.
    if math.isnan(value) or math.isnan(low) or math.isnan(high) or low == high:
        return MetricFigure(value=value, low=None, high=None, method="", rows=rows, rows_needed=None)
    needed = rows_for_width(metric, value, (high - low) / 2, rows)
    return MetricFigure(value=value, low=low, high=high, method=method, rows=rows, rows_needed=needed)


def is_share(metric: Metric, measures: FloatArray) -> bool:
    """True if each row is right or wrong; also of equal values, of which a bootstrap would know no doubt."""
    if metric.combination != "mean" or metric.span != 1.0 or not measures[:, 1].any():
        return False
    if not np.isin(measures[:, 1], (0.0, 1.0)).all():
        return False  # rows of some weigh more than those of others
    values = measures[measures[:, 1] == 1, 0]
    return bool(np.isin(values, (0.0, 1.0)).all() or np.ptp(values) == 0)


def wilson(successes: float, rows: int) -> tuple[float, float]:
    """Return the Wilson interval of a share.

    >>> [round(end, 3) for end in wilson(9, 10)]
    [0.596, 0.982]
    """
    share, spread = successes / rows, Z * Z / rows
    middle = (share + spread / 2) / (1 + spread)
    half = Z * math.sqrt(share * (1 - share) / rows + spread / (4 * rows)) / (1 + spread)
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def bootstrap(statistic: Callable[[FloatArray], FloatArray], sums: FloatArray) -> tuple[float, float]:
    """Return the expanded percentile interval of a statistic; NaN twice where there are too few rows.

    Args:
        statistic: Of sums, float64 (resamples, parts), their values, (resamples,).
        sums: What is resampled, float64, (rows or clusters, parts).
    """
    if len(sums) < FEWEST:
        return math.nan, math.nan
    return expanded_ends(statistic(resample(sums)), len(sums))


def expanded_ends(values: FloatArray, rows: int) -> tuple[float, float]:
    """Return the ends of the expanded percentile interval of resampled values; NaN twice where none is finite.

    Args:
        values: float64, (resamples,).
        rows: How many rows or clusters were resampled.
    """
    values = values[np.isfinite(values)]
    if rows < FEWEST or not len(values):
        return math.nan, math.nan
    tail = _expanded_tail(rows)
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def resample(sums: FloatArray) -> FloatArray:
    """Return the sums over resamples of rows: float64, (resamples, parts)."""
    random, count = np.random.default_rng(SEED), len(sums)
    at_once = max(1, min(RESAMPLES, MOST_NUMBERS // count))
    chunks: list[FloatArray] = []
    for start in range(0, RESAMPLES, at_once):
        drawn = random.integers(0, count, (min(at_once, RESAMPLES - start), count))
        drawn += np.arange(len(drawn))[:, None] * count
        times = np.bincount(drawn.ravel(), minlength=len(drawn) * count).reshape(len(drawn), count)
        chunks.append(times @ sums)
    return np.concatenate(chunks)


def _expanded_tail(count: int) -> float:
    """Return the share of resamples beyond each end: less than 2.5 % where there are few rows."""
    return float(norm.cdf(-math.sqrt(count / (count - 1)) * t.ppf(0.975, count - 1)))


def rows_for_width(metric: Metric, value: float, half: float, rows: int) -> int | None:
    """Return how many rows would make an interval narrow enough; None if it is, and of values that have no scale."""
    scale = metric.span or (abs(value) if metric.lower_is_better else 0.0)
    wanted = WANTED_HALF_WIDTH * scale
    if not wanted or half <= wanted or not math.isfinite(half):
        return None
    return math.ceil(rows * (half / wanted) ** 2)
