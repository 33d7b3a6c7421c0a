"""The value of a study's metric, from the events of a run and the results of its evaluation."""

from collections.abc import Sequence
from itertools import chain
from statistics import fmean

from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.event import Event
from holdfast.core.run.run_state import RunState
from holdfast.core.study.study import StudyMetric
from holdfast.engine.report.curves import Point, gather_curves
from holdfast.engine.report.tables import checkpoint_step
from holdfast.results.evaluate import EvaluateResult

PREFIX = "eval_"


def metric_value(
    metric: StudyMetric, state: RunState, events: Sequence[Event], evaluations: Sequence[EvaluateResult]
) -> float | None:
    """Return the metric of the model that a run has left; None if the run did not write it.

    Of a metric of the trainer's evaluations, this is the last value, or that of the checkpoint which the trainer loaded at the end.

    Args:
        metric: The metric.
        state: The run's state.
        events: Its events; steps may be left out.
        evaluations: The results of the evaluation of its final model.
    """
    if measured := _measured(metric, evaluations):
        return fmean(measured)
    curve = gather_curves(events).get(metric.name)
    if curve and curve.points and metric.name.startswith(PREFIX):
        loaded = _loaded_value(metric, state.current, curve.points)
        return curve.points[-1][1] if loaded is None else loaded
    return _last_logged(metric, state)


def _last_logged(metric: StudyMetric, state: RunState) -> float | None:
    logged = (each.metrics[metric.name] for each in reversed(state.attempts) if metric.name in each.metrics)
    return next(logged, None)


def _measured(metric: StudyMetric, evaluations: Sequence[EvaluateResult]) -> list[float]:
    """Return the values of a metric over all rows of each dataset that it is of."""
    figures = chain.from_iterable(result.results for result in evaluations)
    own = [each for each in figures if each.metric == metric.name and each.where is None]
    return [each.value for each in own if each.value is not None and _is_of(metric, each.dataset)]


def _is_of(metric: StudyMetric, dataset: str) -> bool:
    """True if a figure is of the dataset that the metric names; the figure may have its whole path."""
    return (
        metric.dataset is None or dataset == metric.dataset or dataset.endswith(f"/{metric.dataset.removeprefix('./')}")
    )


def _loaded_value(metric: StudyMetric, attempt: AttemptState | None, points: Sequence[Point]) -> float | None:
    """Return the metric of the checkpoint that an attempt loaded at its end; None if it loaded none, or that was not measured."""
    best = attempt.best if attempt else None
    if best is None:
        return None
    step = checkpoint_step(best.checkpoint)
    named = best.value if best.metric in (metric.name, metric.name.removeprefix(PREFIX)) else None
    return next((value for at, value in points if at == step), named)
