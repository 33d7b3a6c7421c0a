"""Pictures of intervals show the same order as the numbers beside them."""

import pytest

from holdfast.engine.report.intervals import draw_intervals
from holdfast.results.evaluate import BaseFigure, EvaluationFigure


def figure(
    low: float | None, value: float | None, high: float | None, base: float | None = None, metric: str = "acc"
) -> EvaluationFigure:
    """Return a figure, with a base's value if one is given."""
    beside = BaseFigure(
        value=base, difference=None, low=None, high=None, p_value=None, test="", verdict="undecided", rows_needed=None
    )
    return EvaluationFigure(
        dataset="d",
        split="test",
        rows=9,
        metric=metric,
        value=value,
        low=low,
        high=high,
        interval="",
        rows_needed=None,
        where=None,
        base=beside,
    )


@pytest.mark.parametrize(
    ("low", "value", "high", "base"),
    [
        (0.2, 0.5, 0.9, 0.1),
        (0.2, 0.5, 0.9, 0.95),
        (-3.0, -2.0, -1.0, 0.0),
        (5e-9, 6e-9, 7e-9, 6.5e-9),
        (1e3, 2e3, 4e3, 2.0),
    ],
)
def test_a_picture_keeps_the_order(low: float, value: float, high: float, base: float) -> None:
    """Whether the base is in the interval is seen at once."""
    (picture,) = draw_intervals([figure(low, value, high, base)])

    assert picture is not None
    assert picture.base is not None
    assert 0 <= picture.low <= picture.value <= picture.high <= 100
    assert 0 <= picture.base <= 100
    assert (picture.base < picture.low, picture.base > picture.high) == (base < low, base > high)


def test_the_parts_of_one_metric_share_an_axis() -> None:
    """The same value is at the same place; another metric has its own axis."""
    all_rows, part, other = draw_intervals(
        [figure(0.2, 0.4, 0.6), figure(0.4, 0.8, 0.9), figure(10.0, 40.0, 60.0, metric="loss")]
    )

    assert all_rows is not None
    assert part is not None
    assert other is not None
    assert all_rows.value == part.low
    assert all_rows.high < part.value
    assert (other.low, other.high) != (all_rows.low, all_rows.high)


@pytest.mark.parametrize("given", [(None, 0.5, None), (None, None, None), (0.0, 0.0, 0.0), (0.5, 0.5, 0.5)])
def test_what_has_no_interval_has_no_picture(given: tuple[float | None, float | None, float | None]) -> None:
    """One that is a point has one."""
    (picture,) = draw_intervals([figure(*given)])

    assert (picture is None) == (given[0] is None)
    if picture:
        assert 0 <= picture.low == picture.high <= 100
