"""What a study shows: intervals over seeds and tests that agree with scipy, and no verdict where noise is not known."""

import math
import random
from dataclasses import replace
from statistics import fmean
from typing import Any

import pytest
from scipy import stats

from holdfast.core.study.trial import Trial, TrialOutcome
from holdfast.engine.study.importance import rank_settings
from holdfast.engine.study.student import half_width, two_sided
from holdfast.engine.study.summaries import compare_with_best, summarize_settings


def outcomes(values: dict[str, list[float | None]], seeds: list[int] | None = None) -> list[TrialOutcome]:
    """The outcomes of settings by name, one for each seed."""
    found: list[TrialOutcome] = []
    for name, of in values.items():
        for seed, value in zip(seeds or range(len(of)), of, strict=False):
            trial = Trial(number=len(found) + 1, settings={"name": name}, seed=seed)
            found.append(TrialOutcome(trial=trial, value=value))
    return found


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 9, 10, 29, 100])
def test_students_distribution_is_scipys(freedom: int) -> None:
    """For odd and even degrees of freedom."""
    for t in (0.1, 1.0, 2.5, 7.0, 40.0):
        assert two_sided(t, freedom) == pytest.approx(1 - 2 * stats.t.sf(t, freedom), abs=1e-12)
    for confidence in (0.5, 0.95, 0.999):
        assert half_width(freedom, confidence) == pytest.approx(stats.t.ppf((1 + confidence) / 2, freedom), rel=1e-6)


def test_a_setting_has_the_t_interval_of_its_mean() -> None:
    """Over its seeds."""
    (summary,) = summarize_settings(outcomes({"a": [1.0, 2.0, 4.0]}), lower_is_better=True)

    low, high = stats.t.interval(0.95, 2, loc=fmean([1, 2, 4]), scale=stats.sem([1, 2, 4]))
    assert (summary.mean, summary.low, summary.high) == pytest.approx((7 / 3, low, high))


def test_settings_are_compared_on_the_same_seeds() -> None:
    """As a paired test has it, corrected for as many comparisons as there are."""
    values: dict[str, list[float | None]] = {"a": [1.0, 2.0, 3.1], "b": [1.5, 2.6, 3.4], "c": [5.0, 6.1, 7.0]}
    worse = compare_with_best(summarize_settings(outcomes(values), lower_is_better=True))

    assert [each.settings["name"] for each in worse] == ["b", "c"]
    raw = [stats.ttest_rel(values[name], values["a"]) for name in "bc"]
    expected = min(1.0, 2 * min(each.pvalue for each in raw))
    assert worse[1].p_value == pytest.approx(expected)
    assert worse[0].p_value == pytest.approx(max(expected, *(each.pvalue for each in raw)))
    interval = raw[0].confidence_interval()
    assert (worse[0].low, worse[0].high) == pytest.approx((interval.low, interval.high))
    assert worse[1].verdict == "worse"


@pytest.mark.parametrize("seeds", [[1, 2, 3], [4, 5, 6]])
def test_values_on_other_rows_are_not_tested(seeds: list[int]) -> None:
    """However clear the difference is; what is measured on the same rows is corrected for its own comparisons alone."""
    values: dict[str, list[float | None]] = {"a": [1.0, 2.0, 3.1], "b": [1.5, 2.6, 3.4]}
    other = [replace(each, rows="x") for each in outcomes({"c": [5.0, 6.1, 7.0], "d": [5.5]}, seeds)]
    alone = compare_with_best(summarize_settings(outcomes(values), lower_is_better=True))

    together = compare_with_best(summarize_settings([*outcomes(values), *other], lower_is_better=True))
    assert together[:1] == alone
    assert [(each.verdict, each.p_value, each.low) for each in together[1:]] == [("other rows", None, None)] * 2
    assert together[1].difference == pytest.approx(4.0)


def test_settings_without_common_seeds_are_compared_as_welch_has_it() -> None:
    """With whole degrees of freedom, which are on the safe side."""
    found = [*outcomes({"a": [1.0, 1.2, 1.1]}, [1, 2, 3]), *outcomes({"b": [2.0, 2.9, 2.2]}, [4, 5, 6])]
    (worse,) = compare_with_best(summarize_settings(found, lower_is_better=True))

    assert worse.p_value is not None
    assert worse.p_value == pytest.approx(
        stats.ttest_ind([2.0, 2.9, 2.2], [1.0, 1.2, 1.1], equal_var=False).pvalue, abs=0.03
    )


@pytest.mark.parametrize(
    "values", [{"a": [1.0], "b": [2.0]}, {"a": [1.0, 1.0], "b": [2.0, 2.0]}, {"a": [1.0, 1.5], "b": [2.0]}]
)
def test_noise_that_is_not_known_gives_no_verdict(values: dict[str, list[float | None]]) -> None:
    """One seed, or values that are all alike."""
    summaries = summarize_settings(outcomes(values), lower_is_better=True)

    assert [each.verdict for each in compare_with_best(summaries)] == ["unknown"]


def test_the_best_is_one_that_has_all_its_values() -> None:
    """A lucky seed beside two that failed is none; where more is better, the highest is."""
    values: dict[str, list[float | None]] = {
        "lucky": [0.1, None, None],
        "none": [None] * 3,
        "a": [2.0, 2.1, 2.2],
        "b": [3.0, 3.1, 3.3],
    }

    assert [each.settings["name"] for each in summarize_settings(outcomes(values), lower_is_better=True)] == [
        "a",
        "b",
        "lucky",
        "none",
    ]
    assert summarize_settings(outcomes(values), lower_is_better=False)[0].settings["name"] == "b"


def test_settings_that_are_alike_are_seldom_called_worse() -> None:
    """Of studies in which no setting matters, at most about one in twenty names one, though the best is chosen by its luck."""
    dice = random.Random(3)  # noqa: S311 - no secret
    wrong = 0
    for _ in range(300):
        values: dict[str, list[float | None]] = {name: [dice.gauss(0, 1) for _ in range(4)] for name in "ab"}
        found = compare_with_best(summarize_settings(outcomes(values), lower_is_better=True))
        wrong += any(each.verdict == "worse" for each in found)
    assert wrong < 30


def grid(effect: dict[str, float], noise: float, seed: int = 0) -> list[TrialOutcome]:
    """The outcomes of 3 x 3 settings with two seeds."""
    dice = random.Random(seed)  # noqa: S311 - no secret
    found: list[TrialOutcome] = []
    for first in range(3):
        for second in range(3):
            for number in (1, 2):
                settings: dict[str, Any] = {"first": first, "second": second}
                value = sum(effect.get(key, 0) * each for key, each in settings.items()) + dice.gauss(0, noise)
                found.append(TrialOutcome(trial=Trial(number=1, settings=settings, seed=number), value=value))
    return found


def test_the_setting_that_matters_is_named_first() -> None:
    """With nearly all of the differences; the others have nearly none."""
    shares = rank_settings(grid({"second": 5.0}, noise=0.5))

    assert next(iter(shares)) == "second"
    assert shares["second"] > 0.8
    assert max(shares["first"], shares["seed"]) < 0.1
    assert rank_settings(grid({"second": 5.0}, noise=0.5)[:11]) == {}


def test_numbers_that_are_all_different_are_parted() -> None:
    """A rate that was drawn at random: too low and too high are both bad."""
    dice = random.Random(1)  # noqa: S311 - no secret
    rates = [10 ** dice.uniform(-5, -1) for _ in range(60)]
    found = [
        TrialOutcome(
            trial=Trial(number=1, settings={"rate": rate, "idle": dice.random()}),
            value=abs(math.log10(rate) + 3) + dice.gauss(0, 0.05),
        )
        for rate in rates
    ]

    shares = rank_settings(found)
    assert shares["rate"] > 0.5
    assert shares["idle"] < 0.15
