"""Metrics of benchmark tasks: intervals where rows or resamples give one, and none where nothing does."""

import math
from collections.abc import Sequence

import pytest

from holdfast.core.evaluation import Example, HarnessMetric, ModelOutput
from holdfast.engine.evaluate.benchmarks import GivenMetric, group_metric, harness_metric
from holdfast.engine.evaluate.figures import EvaluatedRows, MeasuredMetric, figures_of
from holdfast.results.evaluate import EvaluationFigure


def values(
    rows: Sequence[float], *, name: str = "acc", form: str = "mean", resampled: Sequence[float | None] = ()
) -> HarnessMetric:
    value = sum(rows) / len(rows)
    measures = [(each, 1.0) for each in rows] if form != "none" else []
    value = math.exp(value) if form == "exp of mean" else value
    return HarnessMetric(
        key=name,
        name=name,
        value=value,
        lower_is_better=form == "exp of mean",
        form=form,
        measures=measures,
        resampled=resampled,
    )


def figure(given: GivenMetric, rows: int, *, base: bool = True) -> EvaluationFigure:
    outputs = [ModelOutput(row=row) for row in range(rows)]
    (found,) = figures_of(
        EvaluatedRows(
            dataset="task",
            split="test",
            task="benchmark",
            examples=[Example(row=row, prompt=str(row)) for row in range(rows)],
            outputs=outputs,
            base=outputs if base else None,
            given=[given],
        )
    )
    return found


def test_right_and_wrong_rows_have_the_interval_of_a_share() -> None:
    """Also if all are right, for metrics that are known to be shares; not for others, whose range is not known."""
    assert figure(harness_metric(values([1, 0, 1, 1]), None), 4).interval == "wilson 95 %"
    assert figure(harness_metric(values([1, 1, 1], name="acc_norm,strict"), None), 3).interval == "wilson 95 %"
    alike = figure(harness_metric(values([1, 1, 1], name="points"), None), 3)
    assert (alike.value, alike.low, alike.interval) == (1, None, "")


def test_a_perplexity_is_of_all_rows_and_lower_is_better() -> None:
    model = values([1.0, 2.0, 1.5, 1.2] * 10, name="word_perplexity", form="exp of mean")
    base = values([2.0, 3.1, 2.5, 2.3] * 10, name="word_perplexity", form="exp of mean")

    found = figure(harness_metric(model, base), 40)

    assert found.value == pytest.approx(model.value)
    assert found.base is not None
    assert found.base.verdict == "better"


def test_resamples_give_an_interval_and_no_test() -> None:
    """Of two models those of the same resamples are compared; values that are not finite count for none."""
    draws = [0.5 + 0.001 * number for number in range(100)]
    model = values([0.55] * 10, name="mcc", form="none", resampled=[*draws, None])
    base = values([0.35] * 10, name="mcc", form="none", resampled=[*(each - 0.2 for each in draws), 0.3])

    found = figure(harness_metric(model, base), 10)

    assert found.low is not None
    assert found.high is not None
    assert 0.5 <= found.low < 0.55 < found.high <= 0.6
    assert found.base is not None
    assert (found.base.verdict, found.base.test, found.base.p_value) == ("better", "", None)
    assert found.base.low == pytest.approx(0.2)


def test_without_resamples_there_is_no_interval() -> None:
    """Only the values are known, and the difference."""
    model, base = (values([value] * 10, name="bleu", form="none") for value in (0.4, 0.3))

    found = figure(harness_metric(model, base), 10)

    assert found.value == pytest.approx(0.4)
    assert (found.low, found.interval) == (None, "")
    assert found.base is not None
    assert found.base.difference == pytest.approx(0.1)
    assert (found.base.low, found.base.verdict) == (None, "undecided")


@pytest.mark.parametrize(
    ("by_rows", "value", "interval"), [(True, 0.7, "wilson 95 %"), (False, 0.8125, "bootstrap 95 %")]
)
def test_a_group_is_weighed_by_rows_or_by_tasks(by_rows: bool, value: float, interval: str) -> None:
    """A value that is neither, as of a group that weighs otherwise, has no interval."""
    tasks = [harness_metric(values(rows), values(rows[::-1])) for rows in ([1, 1], [1, 0, 1, 1, 1, 0, 1, 0])]

    found = figure(group_metric(tasks, value, value, by_rows=by_rows), 10)
    other = figure(group_metric(tasks, 0.1, 0.1, by_rows=by_rows), 10)

    assert found.value == pytest.approx(value)
    assert found.interval == interval
    assert (other.value, other.low, other.interval) == (0.1, None, "")


def test_a_group_of_what_is_no_mean_has_a_value_alone() -> None:
    tasks = [harness_metric(values([1, 0]), None), harness_metric(values([1, 0], form="none"), None)]

    found = group_metric(tasks, 0.5, None, by_rows=True)

    assert not isinstance(found, MeasuredMetric)
    assert figure(found, 4, base=False).low is None
