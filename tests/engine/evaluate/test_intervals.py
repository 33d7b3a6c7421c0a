"""Figures and differences are as sure as their intervals say."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import f1_score

from holdfast.catalog.metrics import METRICS
from holdfast.engine.evaluate.answers_scored import count_labels, weigh
from holdfast.engine.evaluate.arrays import FloatArray
from holdfast.engine.evaluate.comparing import compare
from holdfast.engine.evaluate.intervals import figure_of, wilson

SHARE, MEAN, LOSS = METRICS["exact_match"], METRICS["f1"], METRICS["loss"]


@pytest.mark.parametrize(("right", "rows"), [(0, 5), (5, 5), (61, 100), (1, 2_000)])
def test_a_share_has_the_interval_of_scipy(right: int, rows: int) -> None:
    expected = binomtest(right, rows).proportion_ci(method="wilson")

    assert wilson(right, rows) == pytest.approx((expected.low, expected.high))


def test_a_mean_has_about_the_interval_of_students_t() -> None:
    """Also with few rows, where the plain bootstrap is too narrow."""
    values = np.random.default_rng(1).normal(0.5, 0.1, 12)
    half = 2.201 * values.std(ddof=1) / math.sqrt(12)  # the 97.5th percentile of t with 11 degrees of freedom

    figure = figure_of(MEAN, weigh(list(values)), clusters=None)

    assert figure.low == pytest.approx(values.mean() - half, abs=0.02)
    assert figure.high == pytest.approx(values.mean() + half, abs=0.02)


def test_rows_that_belong_together_make_a_figure_less_sure() -> None:
    values = list(np.repeat([1.0, 0.0] * 10, 10))
    apart, together = (figure_of(SHARE, weigh(values), each) for each in (None, np.repeat(np.arange(20), 10)))

    assert together.value == apart.value == 0.5
    assert together.low is not None
    assert apart.low is not None
    assert together.low < apart.low - 0.1


@pytest.mark.parametrize(
    ("measures", "value"),
    [
        (weigh([0.4]), 0.4),
        (np.tile([3.0, 4.0], (20, 1)), 0.75),
        (weigh([None, None]), math.nan),
        (np.zeros((3, 2)), math.nan),
    ],
    ids=["one row", "all alike", "no values", "no tokens"],
)
def test_no_interval_is_made_up(measures: FloatArray, value: float) -> None:
    """One row, rows that are all alike, rows without values, and a division by zero have none."""
    figure = figure_of(LOSS, measures, clusters=None)

    assert figure.value == pytest.approx(value, nan_ok=True)
    assert (figure.low, figure.high, figure.rows_needed) == (None, None, None)


def test_a_bounded_figure_of_like_rows_keeps_its_doubt() -> None:
    """Twenty rows of nothing do not prove that there is nothing."""
    figure = figure_of(MEAN, weigh([0.0] * 20), clusters=None)

    assert (figure.low, figure.method) == (0.0, "wilson 95 %")
    assert figure.high == pytest.approx(0.161, abs=0.001)


def test_few_rows_say_how_many_are_needed() -> None:
    """With so many, the interval is as narrow as is wanted."""
    figure = figure_of(SHARE, weigh([1.0, 0.0] * 25), clusters=None)

    assert figure.rows_needed is not None
    low, high = wilson(figure.rows_needed / 2, figure.rows_needed)
    assert 0.095 < high - low < 0.105
    assert figure_of(SHARE, weigh([1.0, 0.0] * 500), clusters=None).rows_needed is None


def test_macro_f1_is_that_of_scikit_learn() -> None:
    random = np.random.default_rng(3)
    right, given = ([str(each) for each in random.integers(0, 4, 60)] for _ in range(2))

    figure = figure_of(METRICS["macro_f1"], count_labels(given, right, ["0", "1", "2", "3"]), clusters=None)

    assert figure.value == pytest.approx(f1_score(right, given, average="macro"))


def test_the_loss_of_tokens_is_not_the_mean_of_rows() -> None:
    """A long answer counts for more; perplexity is e to the power of it."""
    sums = np.array([[2.0, 1.0], [10.0, 10.0]])

    assert figure_of(LOSS, sums, clusters=None).value == pytest.approx(12 / 11)
    assert figure_of(METRICS["perplexity"], sums, clusters=None).value == pytest.approx(math.exp(12 / 11))


def shift(by: float) -> Callable[[FloatArray], FloatArray]:
    return lambda values: np.clip(values + by, 0, 1)


@pytest.mark.parametrize("metric", [MEAN, LOSS], ids=["f1", "loss"])
@pytest.mark.parametrize("by", [0.05, -0.05, 0.0])
def test_a_shift_of_every_row_is_found(metric: object, by: float) -> None:
    """Paired: rows differ by far more than the models do. Of a loss, lower is better."""
    values = np.random.default_rng(5).uniform(0.1, 0.9, 40)
    noise = np.random.default_rng(6).normal(0, 0.02, 40)
    found = compare(MEAN if metric is MEAN else LOSS, weigh(list(values + noise + by)), weigh(list(values)))

    better, worse = ("worse", "better") if metric is LOSS else ("better", "worse")
    assert found.verdict == (better if by > 0 else worse if by < 0 else "undecided")
    assert found.p_value is not None
    assert (found.p_value < 0.05) == (by != 0)


def test_shares_are_compared_by_the_rows_that_changed() -> None:
    """McNemar's exact test, as scipy has it; undecided comes with the rows that would decide."""
    base = [1.0] * 30 + [0.0] * 20
    model = [0.0] * 2 + [1.0] * 28 + [1.0] * 7 + [0.0] * 13

    few = compare(SHARE, weigh(model), weigh(base))
    many = compare(SHARE, weigh(model * 6), weigh(base * 6))

    assert few.p_value == pytest.approx(binomtest(7, 9).pvalue)
    assert few.difference == pytest.approx(0.1)
    assert few.verdict == "undecided"
    assert few.rows_needed is not None
    assert 50 < few.rows_needed < 300
    assert (many.verdict, many.rows_needed) == ("better", None)


def test_equal_models_are_undecided_without_a_number() -> None:
    """No number of rows finds a difference that is not there."""
    same = weigh([1.0, 0.0, 1.0] * 10)

    found = compare(SHARE, same, same)

    assert (found.verdict, found.difference, found.p_value, found.rows_needed) == ("undecided", 0.0, 1.0, None)
    alike = weigh([0.3, 0.7] * 10)
    found = compare(MEAN, alike, alike)
    assert (found.verdict, found.difference, found.low, found.high) == ("undecided", 0.0, None, None)
