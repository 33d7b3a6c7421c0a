"""The metrics of benchmark tasks, with lm-eval's values, and those of groups of tasks."""

import math
from collections.abc import Iterator, Sequence
from typing import Final, cast

import numpy as np

from holdfast.catalog.metrics import Combination, Metric
from holdfast.core.evaluation import HarnessMetric
from holdfast.engine.evaluate.arrays import FloatArray
from holdfast.engine.evaluate.combining import combine
from holdfast.engine.evaluate.figures import MeasuredMetric, ResampledMetric

SHARES: Final = frozenset({"acc", "acc_norm", "acc_bytes", "acc_mutual_info", "exact_match"})
"""Metrics of lm-eval whose rows are right or wrong."""
CLOSE: Final = 1e-9
NONE: Final = np.empty(0)
GivenMetric = MeasuredMetric | ResampledMetric


def harness_metric(model: HarnessMetric, base: HarnessMetric | None) -> GivenMetric:
    """Return a metric of a task, with the values of the model and of the base."""
    if model.form == "none" or (base is not None and base.form != model.form):
        return _resampled_metric(model, base)
    measures, beside = _measures(model), None if base is None else _measures(base)
    metric = _metric(model, cast("Combination", model.form), span=_span(model, measures, beside))
    return MeasuredMetric(metric=metric, model=measures, base=beside)


def _resampled_metric(model: HarnessMetric, base: HarnessMetric | None) -> ResampledMetric:
    return ResampledMetric(
        metric=_metric(model, "mean", span=None),
        value=model.value,
        draws=_draws(model),
        base_value=base.value if base else None,
        base_draws=_draws(base) if base else None,
    )


def _span(values: HarnessMetric, measures: FloatArray, beside: FloatArray | None) -> float | None:
    """Return 1 for a share of rows, and None for other metrics, whose bounds are not known."""
    rows = [each[:, 0] for each in (measures, beside) if each is not None]
    binary = set(np.unique(np.concatenate(rows))) == {0.0, 1.0}
    return 1.0 if values.form == "mean" and (binary or values.name.partition(",")[0] in SHARES) else None


def _metric(values: HarnessMetric, combination: Combination, *, span: float | None) -> Metric:
    how = {"mean": "mean over rows", "exp of mean": "of all rows together"}.get(values.form, "of all rows together")
    return Metric(
        name=values.name,
        definition=f"lm-eval's `{values.name}`, {how}, as the task defines it",
        tasks=("benchmark",),
        library="lm-eval",
        lower_is_better=values.lower_is_better,
        span=span,
        combination=combination,
    )


def _measures(values: HarnessMetric) -> FloatArray:
    return np.array(values.measures, dtype=np.float64).reshape(-1, 2)


def _draws(values: HarnessMetric) -> FloatArray:
    return np.array([math.nan if each is None else each for each in values.resampled], dtype=np.float64)


def group_metric(
    members: Sequence[GivenMetric], value: float, base_value: float | None, *, by_rows: bool
) -> GivenMetric:
    """Return the metric of a group: with an interval if it is a mean over the rows of its tasks, weighted or not.

    Args:
        members: The metric of each task.
        value: lm-eval's value of the group.
        base_value: That of the base model; None if there is none.
        by_rows: Whether a task weighs as much as it has rows, and not all the same.
    """
    pooled = _pooled_metric(members, by_rows=by_rows)
    if pooled is not None and _gives(pooled.model, value) and _gives(pooled.base, base_value):
        return pooled
    none = None if base_value is None else NONE
    metric = members[0].metric
    return ResampledMetric(metric=metric, value=value, draws=NONE, base_value=base_value, base_draws=none)


def _pooled_metric(members: Sequence[GivenMetric], *, by_rows: bool) -> MeasuredMetric | None:
    """Return the metric over the rows of all tasks; None if it is no mean over rows."""
    means = list(_means(members))
    if len(means) < len(members):
        return None
    bases = [each.base for each in means if each.base is not None]
    return MeasuredMetric(
        metric=means[0].metric,
        model=_pooled([each.model for each in means], by_rows=by_rows),
        base=_pooled(bases, by_rows=by_rows) if len(bases) == len(means) else None,
    )


def _means(metrics: Sequence[GivenMetric]) -> Iterator[MeasuredMetric]:
    return (each for each in metrics if isinstance(each, MeasuredMetric) and each.metric.combination == "mean")


def _pooled(parts: Sequence[FloatArray], *, by_rows: bool) -> FloatArray:
    """Return the rows of several tasks together; each task with the same weight in all if not by rows."""
    most = max(each[:, 1].sum() for each in parts)
    return np.vstack([each if by_rows else each * (most / max(1.0, each[:, 1].sum())) for each in parts])


def _gives(measures: FloatArray | None, value: float | None) -> bool:
    """True if rows have a value as their mean, or if one of the two is not known."""
    if measures is None or value is None:
        return True
    found = float(combine("mean", measures.sum(axis=0, keepdims=True))[0])
    return math.isclose(found, value, rel_tol=CLOSE, abs_tol=CLOSE)
