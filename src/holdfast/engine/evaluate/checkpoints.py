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
        lower = figure.metric in {each.name for each in final.metrics if each.lower_is_better}
        best = BestCheckpoint(
            dataset=dataset.dataset, metric=figure.metric, step=None, folder=folder, value=figure.value, verdict=None
        )
        for each in reversed(checkpoints):
            best = _better(best, each, _same(figure, each.figures), lower=lower)
        yield best


def _better(
    best: BestCheckpoint, checkpoint: EvaluatedCheckpoint, figure: EvaluationFigure | None, *, lower: bool
) -> BestCheckpoint:
    """Return the better of the best so far and a checkpoint with a figure."""
    value = figure.value if figure else None
    if figure is None or value is None or not (value < best.value if lower else value > best.value):
        return best
    return BestCheckpoint(
        dataset=best.dataset,
        metric=best.metric,
        step=checkpoint.step,
        folder=checkpoint.folder,
        value=value,
        verdict=figure.base.verdict if figure.base else None,
    )


def _same(figure: EvaluationFigure, figures: Sequence[EvaluationFigure]) -> EvaluationFigure | None:
    """Return the figure of the same metric on the same dataset."""
    same = (each for each in figures if (each.dataset, each.metric) == (figure.dataset, figure.metric))
    return next(same, None)
