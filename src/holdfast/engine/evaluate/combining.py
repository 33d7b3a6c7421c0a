"""How the measures of rows become one value: each is a function of their sums.

So a resample of the rows needs no more than other sums, and one way of resampling serves every metric.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from holdfast.engine.evaluate.arrays import FloatArray
from holdfast.engine.evaluate.metrics import Combination

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
    from sacrebleu.metrics.bleu import BLEU

    def score(counts: FloatArray) -> float:
        correct, total = counts[:ORDERS].astype(int).tolist(), counts[ORDERS : 2 * ORDERS].astype(int).tolist()
        lengths = (int(counts[-2]), int(counts[-1]))
        return float(BLEU.compute_bleu(correct, total, *lengths, smooth_method="exp").score)

    return np.array([score(counts) for counts in sums])


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
