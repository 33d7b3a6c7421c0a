"""Pictures of 95 % intervals: where the value of a figure, the ends of its interval and the base's value are on an axis. Pure geometry."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.engine.evaluate.headlines import spell_figure
from holdfast.engine.report.chart import MARGIN, Axis, make_axis
from holdfast.results.evaluate import EvaluationFigure


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalPicture:
    """A figure on the axis of its metric. Places are percent from the left.

    Attributes:
        base: That of the base's value; None if there is none.
        summary: What it shows, for those who do not see it.
    """

    low: float
    value: float
    high: float
    base: float | None
    summary: str


def draw_intervals(figures: Sequence[EvaluationFigure]) -> list[IntervalPicture | None]:
    """Return a picture of each figure of a dataset, or None for one without an interval. Figures of one metric share an axis.

    Args:
        figures: All figures of the dataset, also those of parts of its rows.
    """
    axes = {
        metric: _axis([each for each in figures if each.metric == metric])
        for metric in {each.metric for each in figures}
    }
    return [_picture(each, axes[each.metric]) for each in figures]


def _axis(figures: Sequence[EvaluationFigure]) -> Axis:
    values = [value for each in figures for value in _values(each)]
    return make_axis(min(values, default=0.0), max(values, default=1.0), margin=MARGIN)


def _values(figure: EvaluationFigure) -> Iterator[float]:
    base = figure.base.value if figure.base else None
    return (value for value in (figure.low, figure.value, figure.high, base) if value is not None)


def _picture(figure: EvaluationFigure, axis: Axis) -> IntervalPicture | None:
    if figure.low is None or figure.high is None or figure.value is None:
        return None
    base = figure.base.value if figure.base else None
    beside = "" if base is None else f"; base {spell_figure(base)}"
    return IntervalPicture(
        low=axis.percent(figure.low),
        value=axis.percent(figure.value),
        high=axis.percent(figure.high),
        base=None if base is None else axis.percent(base),
        summary=f"{figure.metric} {spell_figure(figure.value)}, {spell_figure(figure.low)} to {spell_figure(figure.high)}{beside}",
    )
