"""The value of a study's metric, from the events of a run and the results of its evaluation."""

from collections.abc import Sequence
from statistics import fmean

from holdfast.core.event import Event, training_events
from holdfast.core.run_state import RunState
from holdfast.core.study import StudyMetric
from holdfast.core.training_event import TrainingStarted
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
    figures = [
        each.value
        for result in evaluations
        for each in result.results
        if each.metric == metric.name and each.where is None and each.value is not None and _is_of(metric, each.dataset)
    ]
    if figures:
        return fmean(figures)
    curve = gather_curves(events).get(metric.name)
    if curve and curve.points and metric.name.startswith(PREFIX):
        values = [value for _, value in curve.points]
        return (min if metric.lower_is_better else max)(values) if _loads_best(metric, events) else values[-1]
    logged = (each.metrics[metric.name] for each in reversed(state.attempts) if metric.name in each.metrics)
    return next(logged, None)


def _is_of(metric: StudyMetric, dataset: str) -> bool:
    """Return whether a figure is of the dataset that the metric names; the figure may have its whole path."""
    return (
        metric.dataset is None or dataset == metric.dataset or dataset.endswith(f"/{metric.dataset.removeprefix('./')}")
    )


def _loads_best(metric: StudyMetric, events: Sequence[Event]) -> bool:
    """Return whether the trainer loads the checkpoint that is the best by the metric. Its own name for `eval_loss` may be `loss`."""
    config = next(training_events(reversed(events), TrainingStarted), TrainingStarted()).config
    named = str(config.get("metric_for_best_model") or "")
    return bool(config.get("load_best_model_at_end")) and named in (metric.name, metric.name.removeprefix(PREFIX))
