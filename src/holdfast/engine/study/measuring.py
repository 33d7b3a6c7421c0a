"""The value of a study's metric, from the events of a run and the results of its evaluation."""

from collections.abc import Sequence
from itertools import chain
from statistics import fmean

from holdfast.core.run.event import Event, training_events
from holdfast.core.run.run_state import RunState
from holdfast.core.run.training_event import TrainingStarted
from holdfast.core.study.study import StudyMetric
from holdfast.engine.report.curves import gather_curves
from holdfast.results.evaluate import EvaluateResult

PREFIX = "eval_"


def metric_value(
    metric: StudyMetric, state: RunState, events: Sequence[Event], evaluations: Sequence[EvaluateResult]
) -> float | None:
    """Return the metric of the model that a run has left; None if the run did not write it.

    Of a metric that the trainer logs, this is the last value, or the best if the trainer loaded the best checkpoint by that metric.

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
        values = [value for _, value in curve.points]
        return _best(metric, values) if _loads_best(metric, events) else values[-1]
    return _last_logged(metric, state)


def _last_logged(metric: StudyMetric, state: RunState) -> float | None:
    logged = (each.metrics[metric.name] for each in reversed(state.attempts) if metric.name in each.metrics)
    return next(logged, None)


def _measured(metric: StudyMetric, evaluations: Sequence[EvaluateResult]) -> list[float]:
    """Return the values of a metric over all rows of each dataset that it is of."""
    figures = chain.from_iterable(result.results for result in evaluations)
    own = [each for each in figures if each.metric == metric.name and each.where is None]
    return [each.value for each in own if each.value is not None and _is_of(metric, each.dataset)]


def _best(metric: StudyMetric, values: Sequence[float]) -> float:
    return min(values) if metric.lower_is_better else max(values)


def _is_of(metric: StudyMetric, dataset: str) -> bool:
    """True if a figure is of the dataset that the metric names; the figure may have its whole path."""
    return (
        metric.dataset is None or dataset == metric.dataset or dataset.endswith(f"/{metric.dataset.removeprefix('./')}")
    )


def _loads_best(metric: StudyMetric, events: Sequence[Event]) -> bool:
    """True if the trainer loads the checkpoint that is the best by the metric. Its own name for `eval_loss` may be `loss`."""
    config = next(training_events(reversed(events), TrainingStarted), TrainingStarted()).config
    named = str(config.get("metric_for_best_model") or "")
    return bool(config.get("load_best_model_at_end")) and named in (metric.name, metric.name.removeprefix(PREFIX))
