"""The figures of a dataset: of all rows, of parts of them, and beside a base model's."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from holdfast.catalog.metrics import METRICS, Metric, own_metric
from holdfast.core.evaluation import Example, ModelOutput, TaskName
from holdfast.engine.evaluate.arrays import BoolArray, FloatArray, IntArray, number_clusters
from holdfast.engine.evaluate.breakdown import can_group, groups_of
from holdfast.engine.evaluate.combining import combine
from holdfast.engine.evaluate.comparing import Comparison, compare, compare_resampled
from holdfast.engine.evaluate.intervals import expanded_ends, figure_of
from holdfast.engine.evaluate.measuring import measure
from holdfast.results.evaluate import BaseFigure, EvaluationFigure

Measured = tuple[Metric, FloatArray, FloatArray | None]
"""A metric with the measures of the model and of the base."""
Group = Mapping[str, str]
"""A column with the value that the rows of a group share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredMetric:
    """A metric whose measures another library has given.

    Attributes:
        metric: The metric.
        model: float64, (rows, 2): each row's value and weight.
        base: Those of the base model; None if there is none.
    """

    metric: Metric
    model: FloatArray
    base: FloatArray | None = None

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.name

    def values_of_rows(self, measures: FloatArray) -> list[float]:
        """Return the value of each row by itself; NaN for one without a weight."""
        return [float(value) for value in combine(self.metric.combination, measures)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResampledMetric:
    """A metric whose values another library has given: for all rows, and for resamples of them.

    Attributes:
        metric: The metric.
        value: The value.
        draws: float64, (resamples,): its values for resamples; empty if there are none.
        base_value: The base model's value; None if there is none.
        base_draws: Its values for the same resamples.
    """

    metric: Metric
    value: float
    draws: FloatArray
    base_value: float | None = None
    base_draws: FloatArray | None = None

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.name


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedRows:
    """The rows of a dataset with what models gave for them.

    Attributes:
        dataset: The dataset, as it was named.
        split: The split.
        task: What it is evaluated for.
        examples: The rows.
        outputs: What the model gave for each, in the same order.
        base: What the base model gave; None if there is none.
        metrics: The metrics that are requested.
        own: The values of own metrics and rewards, by name: for each row, None if the function gave none.
        base_own: The same of the base model's answers.
        cluster: The column whose value rows that belong together share; empty if those of the same prompt do.
        given: The metrics that lm-eval gives, with its values, in its order.
    """

    dataset: str
    split: str
    task: TaskName
    examples: Sequence[Example]
    outputs: Sequence[ModelOutput]
    base: Sequence[ModelOutput] | None = None
    metrics: Sequence[str] = ()
    own: Mapping[str, Sequence[float | None]] = field(default_factory=dict[str, Sequence[float | None]])
    base_own: Mapping[str, Sequence[float | None]] = field(default_factory=dict[str, Sequence[float | None]])
    cluster: str = ""
    given: Sequence[MeasuredMetric | ResampledMetric] = ()

    def clusters(self) -> IntArray | None:
        """Return which rows belong together; None where each is its own."""
        if self.cluster:
            return number_clusters([str(each.columns.get(self.cluster)) for each in self.examples])
        return number_clusters([_question(each) if each.prompt else str(each.row) for each in self.examples])

    def measured(self) -> list[Measured]:
        """Return each metric with the measures of the model and of the base."""
        found: list[Measured] = []
        for name in self.metrics:
            base = None if self.base is None else measure(name, self.task, self.examples, self.base)
            found.append((METRICS[name], measure(name, self.task, self.examples, self.outputs), base))
        for name, values in self.own.items():
            base = _weighed(self.base_own[name]) if name in self.base_own else None
            found.append((own_metric(name, "the mean of what the function gives"), _weighed(values), base))
        found += ((each.metric, each.model, each.base) for each in self.given if isinstance(each, MeasuredMetric))
        return found


def _weighed(values: Sequence[float | None]) -> FloatArray:
    """Return values as the measures of a mean; those that are no finite number have no weight."""
    finite = [value if value is not None and math.isfinite(value) else None for value in values]
    return np.array([(0.0, 0.0) if value is None else (value, 1.0) for value in finite]).reshape(-1, 2)


def figures_of(
    rows: EvaluatedRows, by: Sequence[str] = (), leaving_out: frozenset[int] = frozenset()
) -> list[EvaluationFigure]:
    """Return the figures of a dataset: each metric over all rows, then over each group.

    Args:
        rows: The rows.
        by: What they are broken down by, where they have such a column.
        leaving_out: Numbers of rows that are left out.
    """
    clusters, measured = rows.clusters(), rows.measured()
    kept = np.array([each.row not in leaving_out for each in rows.examples], dtype=bool)
    figures = [
        _figure(rows, each, where, chosen, clusters)
        for where, chosen in _parts(rows.examples, by, kept)
        if chosen.any()
        for each in measured
    ]
    if leaving_out:
        return figures
    return [*figures, *(_resampled(rows, each) for each in rows.given if isinstance(each, ResampledMetric))]


def _parts(examples: Sequence[Example], by: Sequence[str], kept: BoolArray) -> Iterator[tuple[Group | None, BoolArray]]:
    """Yield the parts that get figures, with the rows in each: all, without a group, and then each group."""
    yield None, kept
    for name in by:
        if can_group(name, examples):
            groups = groups_of(name, examples)
            for each in _in_order(groups):
                yield {name: each}, kept & np.array([group == each for group in groups])


def _in_order(groups: Sequence[str]) -> list[str]:
    """Return the groups, the largest first."""
    return sorted(set(groups), key=lambda each: (-groups.count(each), each))


def _question(example: Example) -> str:
    """Return the input of a model as a text that differs from that of every other input."""
    return repr((example.prompt, example.images)) if example.images else repr(example.prompt)


def _joined(clusters: IntArray | None, chosen: BoolArray) -> IntArray | None:
    """Return the clusters of some of the rows, numbered anew."""
    return None if clusters is None else number_clusters([str(each) for each in clusters[chosen]])


def _figure(
    rows: EvaluatedRows, measured: Measured, where: Group | None, chosen: BoolArray, clusters: IntArray | None
) -> EvaluationFigure:
    metric, model, base = measured
    clusters = _joined(clusters, chosen)
    found = figure_of(metric, model[chosen], clusters)
    return EvaluationFigure(
        dataset=rows.dataset,
        split=rows.split,
        rows=found.rows,
        metric=metric.name,
        value=finite(found.value),
        low=found.low,
        high=found.high,
        interval=found.method,
        rows_needed=found.rows_needed,
        where=where,
        base=None if base is None else _beside(compare(metric, model[chosen], base[chosen], clusters)),
    )


def _resampled(rows: EvaluatedRows, given: ResampledMetric) -> EvaluationFigure:
    """Return the figure of a metric of which values of resamples are known."""
    low, high = expanded_ends(given.draws, len(rows.examples))
    known = not math.isnan(low) and low != high
    beside = None
    if given.base_value is not None and given.base_draws is not None:
        draws = (given.draws, given.base_draws)
        beside = _beside(compare_resampled(given.metric, given.value, given.base_value, *draws, len(rows.examples)))
    return EvaluationFigure(
        dataset=rows.dataset,
        split=rows.split,
        rows=len(rows.examples),
        metric=given.name,
        value=finite(given.value),
        low=low if known else None,
        high=high if known else None,
        interval="bootstrap 95 %" if known else "",
        rows_needed=None,
        where=None,
        base=beside,
    )


def _beside(found: Comparison) -> BaseFigure:
    return BaseFigure(
        value=finite(found.base),
        difference=finite(found.difference),
        low=found.low,
        high=found.high,
        p_value=found.p_value,
        test=found.test,
        verdict=found.verdict,
        rows_needed=found.rows_needed,
    )


def finite(value: float) -> float | None:
    """Return a number that JSON has; None for NaN and the infinite.

    >>> finite(0.5), finite(math.nan)
    (0.5, None)
    """
    return value if math.isfinite(value) else None
