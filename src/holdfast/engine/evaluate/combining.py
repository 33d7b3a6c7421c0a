"""How the measures of rows become one value: each is a function of their sums.

So a resample of the rows needs no more than other sums, and one way of resampling serves every metric.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from holdfast.catalog.metrics import Combination
from holdfast.engine.evaluate.arrays import FloatArray

ORDERS: Final = 4
"""BLEU counts sequences of up to so many words."""
PER_LABEL: Final = 3
"""Right, falsely given and missed answers of a label."""


def combine(how: Combination, sums: FloatArray) -> FloatArray:
    """Return the values of sums: float64, (resamples,); NaN where nothing was measured.

    >>> combine("mean", np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [0.75, nan]

    Args:
        how: How values are combined.
        sums: float64, (resamples, parts). Of a mean, the sum of the values and of the weights.
    """
    return _COMBINATIONS[how](sums)


def _mean(sums: FloatArray) -> FloatArray:
    there = sums[:, 1] > 0
    return np.where(there, sums[:, 0] / np.where(there, sums[:, 1], 1.0), np.nan)


def _exp_of_mean(sums: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):  # the perplexity of a loss over 709 is infinite
        return np.exp(_mean(sums))


def _bleu(sums: FloatArray) -> FloatArray:
    """Return BLEU, as `BLEU.compute_bleu` of sacrebleu has it with `exp` smoothing, for many resamples at once."""
    right, total = sums[:, :ORDERS], sums[:, ORDERS : 2 * ORDERS]
    answered, wanted = sums[:, -2], sums[:, -1]
    smoothed = 2.0 ** np.cumsum(
        (right == 0) & (total > 0), axis=1
    )  # each order without a match counts half of the last
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        precisions = np.where(right > 0, right, 1 / smoothed) / total
        brevity = np.where(answered < wanted, np.exp(1 - wanted / answered), 1.0)
        scores = 100 * brevity * np.exp(np.log(precisions).mean(axis=1))
    return np.where(right.any(axis=1) & (total > 0).all(axis=1), scores, 0.0)


def _macro_f1(sums: FloatArray) -> FloatArray:
    counts = sums.reshape(len(sums), -1, PER_LABEL)
    right, false, missed = counts[:, :, 0], counts[:, :, 1], counts[:, :, 2]
    of_all = 2 * right + false + missed
    met = of_all > 0
    scores = np.where(met, 2 * right / np.where(met, of_all, 1.0), 0.0)
    labels = met.sum(axis=1)
    return np.where(labels > 0, scores.sum(axis=1) / np.maximum(labels, 1), np.nan)


_COMBINATIONS: Final[dict[Combination, Callable[[FloatArray], FloatArray]]] = {
    "mean": _mean,
    "exp of mean": _exp_of_mean,
    "bleu": _bleu,
    "macro f1": _macro_f1,
}
