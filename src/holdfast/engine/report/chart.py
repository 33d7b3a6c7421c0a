"""Where the parts of a line chart go: pure geometry, which a template draws.

Places are percent of the plot's width from the left, and of its height from the top, so that a chart fits any
width and its text keeps its size.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, TypeVar

from holdfast.engine.report.curves import Point

BUCKETS = 300  # parts of a line; each keeps its lowest and highest point, so more would not be seen
DOTS = 50  # more would run into one another
READINGS = 100  # places of a chart that tell their value
TICKS = 6  # on an axis, about
MARGIN = 0.04  # of the plot's height, above the highest point and below the lowest
SLACK = 1e-9  # a value on a tick is not pushed to the next by rounding
STEPS = (1, 2, 2.5, 5, 10)  # what people count in, times a power of ten
SPIKE = 50  # times the middle value; with a peak so high all else would lie on the floor, unless drawn by powers of ten

T = TypeVar("T")
CurveRole = Literal["line", "raw", "redone", "dots"]


@dataclass(frozen=True, slots=True)
class Series:
    """Points to draw.

    Attributes:
        name: For the legend; empty for none.
        role: How to draw it.
    """

    name: str
    role: CurveRole
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class Tick:
    """A label on an axis, or a place that tells something."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Dot:
    """A point that tells its value."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Trace:
    """A series in place.

    Attributes:
        role: The class names by which it is drawn.
        last: Its newest value, as text.
        path: SVG path data of a line or an area; empty for dots.
    """

    name: str
    role: str
    last: str
    path: str
    dots: tuple[Dot, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A chart, ready to be drawn.

    Attributes:
        summary: What it shows, for those who do not see it.
        readings: Upright strips, from the left, with what the first line reads there.
        marks: Upright lines with a label.
    """

    title: str
    summary: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    traces: tuple[Trace, ...]
    readings: tuple[Tick, ...] = ()
    marks: tuple[Tick, ...] = ()


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values and where its ticks are.

    Attributes:
        log: Whether it goes by powers of ten.
    """

    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def percent(self, value: float) -> float:
        """Return the position of a value along the axis, in percent."""
        low, high, at = (math.log10(v) if self.log else v for v in (self.low, self.high, value))
        return round((at - low) / (high - low) * 100, 2)

    def from_top(self, value: float) -> float:
        """Return the distance of a value from the upper end, in percent."""
        return round(100 - self.percent(value), 2)


def draw_plot(
    title: str,
    series: Sequence[Series],
    spell: Callable[[float], str],
    *,
    marks: Iterable[tuple[float, str]] = (),
    readings: bool = False,
) -> Plot | None:
    """Lay out a chart over steps; None if there is nothing to draw.

    Args:
        title: What is drawn.
        series: Lines and dots; the first is what the readings tell.
        spell: Writes a value for people.
        marks: Steps that get an upright line, with their labels.
        readings: Whether places of the chart tell their value.
    """
    shown = [each for each in series if each.points]
    if not shown:
        return None
    x, y = _axes([*chain.from_iterable(each.points for each in shown)])
    return Plot(
        title=title,
        summary=_summary(title, shown, spell),
        x_ticks=_ticks(x.ticks, x.percent),
        y_ticks=_ticks(y.ticks, y.from_top),
        traces=tuple(_trace(each, x, y, spell) for each in shown),
        readings=_readings(shown[0].points, x, spell) if readings else (),
        marks=_marks(marks, x),
    )


def _axes(points: Sequence[Point]) -> tuple[Axis, Axis]:
    """Return the axis of steps, and that of values."""
    steps, values = [step for step, _ in points], [value for _, value in points]
    x = make_axis(min(0, *steps), max(1, *steps))
    return x, log_axis(values) if _has_spike(values) else make_axis(min(values), max(values), margin=MARGIN)


def _ticks(values: Iterable[float], place: Callable[[float], float]) -> tuple[Tick, ...]:
    return tuple(Tick(place(value), spell_tick(value)) for value in values)


def _marks(marks: Iterable[tuple[float, str]], x: Axis) -> tuple[Tick, ...]:
    return tuple(Tick(x.percent(step), label) for step, label in marks if x.low <= step <= x.high)


def make_axis(low: float, high: float, *, margin: float = 0.0) -> Axis:
    """Choose an axis for values from `low` to `high`, with ticks that people count in.

    Args:
        low: Least value.
        high: Greatest value.
        margin: Part of the range to leave free on either side, though not below zero for values above it.

    >>> make_axis(2.5, 8.4).ticks
    (3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
    """
    if low == high:
        low, high = low - (abs(low) / 2 or 1), high + (abs(high) / 2 or 1)
    free = (high - low) * margin
    low, high = (max(low - free, 0.0) if low >= 0 else low - free), high + free
    step = _tick_step(high - low)
    first, last = math.ceil(low / step - SLACK), math.floor(high / step + SLACK)
    return Axis(low, high, tuple(step * number for number in range(first, last + 1)))


def log_axis(values: Sequence[float]) -> Axis:
    """Choose an axis by powers of ten for values above 0.

    >>> log_axis([0.5, 200.0]).ticks
    (0.1, 1.0, 10.0, 100.0, 1000.0)
    """
    bottom = math.floor(math.log10(min(values)))
    powers = range(bottom, max(math.ceil(math.log10(max(values))), bottom + 1) + 1)
    return Axis(10.0 ** powers[0], 10.0 ** powers[-1], tuple(10.0**power for power in powers), log=True)


def _has_spike(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) > SPIKE * statistics.median(values)


def _tick_step(span: float) -> float:
    rough = span / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in STEPS if step * power >= rough - SLACK * power)


def spell_tick(value: float) -> str:
    """Write a tick, short: `1.5k` for 1500.

    >>> spell_tick(0.0015), spell_tick(1500.0), spell_tick(2e9)
    ('0.0015', '1.5k', '2G')
    """
    for power, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= power:
            return f"{value / power:.6g}{prefix}"
    return f"{value:.6g}"


def thin(points: Sequence[Point], buckets: int = BUCKETS) -> list[Point]:
    """Return at most two points a bucket, its lowest and its highest, and the ends: no spike is lost.

    >>> thin([(step, 9.0 if step == 500 else 1.0) for step in range(1000)], buckets=2)
    [(0, 1.0), (500, 9.0), (501, 1.0), (999, 1.0)]
    """
    if len(points) <= 2 * buckets:
        return list(points)
    kept = {points[0], points[-1]}
    first, span = points[0][0], points[-1][0] - points[0][0]
    parts: dict[int, list[Point]] = {}
    for point in points:
        parts.setdefault(min(int((point[0] - first) * buckets / span), buckets - 1), []).append(point)
    for part in parts.values():
        kept |= {min(part, key=_value), max(part, key=_value)}
    return sorted(kept)


def _value(point: Point) -> float:
    return point[1]


def _trace(series: Series, x: Axis, y: Axis, spell: Callable[[float], str]) -> Trace:
    last = spell(series.points[-1][1])
    if series.role == "dots":
        shown = evenly(series.points, DOTS)
        dots = tuple(Dot(x.percent(at), y.from_top(v), f"step {at:g}: {spell(v)}") for at, v in shown)
        return Trace(series.name, series.role, last, "", dots)
    placed = [f"{x.percent(step):g} {y.from_top(value):g}" for step, value in thin(series.points)]
    return Trace(series.name, series.role, last, "M" + "L".join(placed))


def _readings(points: Sequence[Point], x: Axis, spell: Callable[[float], str]) -> tuple[Tick, ...]:
    return tuple(Tick(x.percent(step), f"step {step:g}: {spell(value)}") for step, value in evenly(points, READINGS))


def evenly(items: Sequence[T], count: int) -> list[T]:
    """Return at most `count` items from first to last, as evenly spread as they go.

    >>> evenly(range(10), 4)
    [0, 3, 6, 9]
    """
    if len(items) <= count:
        return list(items)
    return [items[round(place * (len(items) - 1) / (count - 1))] for place in range(count)]


def _summary(title: str, shown: Sequence[Series], spell: Callable[[float], str]) -> str:
    parts = [
        f"{each.name} from {spell(each.points[0][1])} at step {each.points[0][0]:g} "
        f"to {spell(each.points[-1][1])} at step {each.points[-1][0]:g}"
        for each in shown
        if each.name
    ]
    return f"{title}: {'; '.join(parts)}."
