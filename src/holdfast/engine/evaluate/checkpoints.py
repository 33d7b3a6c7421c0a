"""The best of a run's checkpoints on each dataset."""

from collections.abc import Iterator, Sequence

from holdfast.engine.evaluate.headlines import main_figure
from holdfast.results.evaluate import BestCheckpoint, EvaluatedCheckpoint, EvaluateResult, EvaluationFigure


def best_checkpoints(
    final: EvaluateResult, checkpoints: Sequence[EvaluatedCheckpoint], folder: str
) -> Iterator[BestCheckpoint]:
    """Yield for each dataset the best of the final model and the checkpoints, by the main metric; of equals, the last.

    Args:
        final: The result of the final model.
        checkpoints: The checkpoints, by step.
        folder: The final model's folder.
    """
    for dataset in final.datasets:
        figure = main_figure(final, dataset)
        if figure is None or figure.value is None:
            continue
        lower = any(each.name == figure.metric and each.lower_is_better for each in final.metrics)
        best = BestCheckpoint(
            dataset=dataset.dataset, metric=figure.metric, step=None, folder=folder, value=figure.value, verdict=None
        )
        for each in reversed(checkpoints):
            other = _same(figure, each.figures)
            if other is not None and other.value is not None and _is_better(other.value, best.value, lower=lower):
                best = BestCheckpoint(
                    dataset=dataset.dataset,
                    metric=figure.metric,
                    step=each.step,
                    folder=each.folder,
                    value=other.value,
                    verdict=other.base.verdict if other.base else None,
                )
        yield best


def _same(figure: EvaluationFigure, figures: Sequence[EvaluationFigure]) -> EvaluationFigure | None:
    """Return the figure of the same metric on the same dataset."""
    same = (each for each in figures if (each.dataset, each.metric) == (figure.dataset, figure.metric))
    return next(same, None)


def _is_better(value: float, than: float, *, lower: bool) -> bool:
    return value < than if lower else value > than
