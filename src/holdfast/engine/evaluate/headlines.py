"""What an evaluation says of each dataset, in one sentence: by its main metric, beside the base."""

from holdfast.catalog.metrics import MAIN
from holdfast.engine.units import render_counted
from holdfast.results.evaluate import (
    BaseFigure,
    EvaluatedDataset,
    EvaluateResult,
    EvaluationFigure,
    LeakedDataset,
)


def main_figure(result: EvaluateResult, dataset: EvaluatedDataset) -> EvaluationFigure | None:
    """Return the figure of a dataset's main metric; of other metrics, the first."""
    own = [each for each in result.results if each.dataset == dataset.dataset and each.where is None]
    main = [each for each in own if each.metric == MAIN.get(dataset.task)]  # of a benchmark task, lm-eval's first one
    return next(iter((*main, *own)), None)


def describe_dataset(result: EvaluateResult, dataset: EvaluatedDataset) -> str:
    """Return what an evaluation says of a dataset: its main figure, and how many of its rows are in the training data."""
    figure = main_figure(result, dataset)
    said = describe_figure(figure) if figure else "no figure"
    leaked = next((each for each in result.leaked if each.dataset == dataset.dataset and each.rows), None)
    return f"{said}; {describe_leak(leaked)}" if leaked else said


def describe_leak(leaked: LeakedDataset) -> str:
    """Return how many rows of a dataset are in the training data: `56 rows (93.3%) in the training data`."""
    return f"{render_counted(leaked.rows, 'row')} ({leaked.fraction:.1%}) in the training data"


def describe_figure(figure: EvaluationFigure) -> str:
    """Return what a figure says: `better: loss 2.31 (2.2 to 2.42), base 7.66, 100 rows`."""
    interval = "" if figure.low is None else f" ({spell_figure(figure.low)} to {spell_figure(figure.high)})"
    value = f"{figure.metric} {spell_figure(figure.value)}{interval}"
    if figure.base is None:
        return f"{value}, {render_counted(figure.rows, 'row')}"
    verdict = describe_verdict(figure.base, figure.rows)
    rows = "" if figure.base.verdict == "undecided" else f", {render_counted(figure.rows, 'row')}"
    return f"{verdict}: {value}, base {spell_figure(figure.base.value)}{rows}"


def describe_verdict(base: BaseFigure, rows: int) -> str:
    """Return whether a model is better than its base, or how many rows would decide it."""
    if base.verdict != "undecided":
        return base.verdict
    needed = f" ({base.rows_needed:,} needed)" if base.rows_needed else ""
    return f"undecided with {render_counted(rows, 'row')}{needed}"


def spell_figure(value: float | None) -> str:
    """Return a value with the digits that matter.

    >>> spell_figure(0.61234), spell_figure(None)
    ('0.6123', 'none')
    """
    return "none" if value is None else f"{value:.4g}"
