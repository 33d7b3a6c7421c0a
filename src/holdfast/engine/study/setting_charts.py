"""Charts of a study's settings: parallel coordinates of all keys, and a scatter of the metric over each key. Pure geometry."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from holdfast.core.text.numbers import is_number
from holdfast.engine.report.chart import Axis, Dot, Plot, Tick, Trace, log_axis, make_axis, spell_tick
from holdfast.engine.report.settings import spell_value
from holdfast.engine.study.headline import spell_settings
from holdfast.engine.units import render_number
from holdfast.results.study import StudyResult, StudyTrialResult

WIDE: Final = 50
"""How many times the least value the greatest is, from which on an axis goes by powers of ten."""
MOST_VALUES: Final = 12
"""Values of a key that is no number; more labels would run into one another."""
MOST_NUMBERS: Final = 4
"""Different numbers that are labels themselves."""
FEW: Final = 30
"""Trials up to which each line is easily seen."""
MARGIN: Final = 0.04
EDGE: Final = 4.0
"""Percent of the height that is left free above and below."""


@dataclass(frozen=True, slots=True)
class ParallelAxis:
    """One upright axis: a key, or the metric.

    Attributes:
        at: Its place from the left, in percent.
        ticks: Its labels, each with its distance from the top, in percent.
    """

    name: str
    at: float
    ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class ParallelLine:
    """A trial, as a line over all axes.

    Attributes:
        role: `line` for the best setting, else `raw`; `raw few` where there are few.
        text: What it is.
    """

    path: str
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class ParallelPlot:
    """A chart of parallel coordinates."""

    title: str
    axes: tuple[ParallelAxis, ...]
    lines: tuple[ParallelLine, ...]


@dataclass(frozen=True, slots=True)
class ValueAxis:
    """Where values are along an axis, in percent from its low end, and its labels."""

    place: Callable[[Any], float]
    ticks: tuple[Tick, ...]


def parallel_plot(result: StudyResult) -> ParallelPlot | None:
    """Lay out parallel coordinates; None if fewer than two trials have a value, or nothing varies."""
    trials = _valued(result)
    keys = _varied(trials)
    if not trials[1:] or not keys:
        return None
    columns = _columns(trials, keys, result.metric)
    lines = [_parallel_line(columns, at, trials, result) for at in range(len(trials))]
    lines.sort(key=lambda each: each.role == "line")  # the best on top
    axes = tuple(ParallelAxis(each.name, each.at, _from_top_ticks(each.axis.ticks)) for each in columns)
    return ParallelPlot(f"{result.metric} by all settings", axes, tuple(lines))


@dataclass(frozen=True, slots=True)
class _TrialValues:
    """The values of all trials for a key or the metric, with their upright axis.

    Attributes:
        at: Its place from the left, in percent.
    """

    name: str
    at: float
    values: Sequence[Any]
    axis: ValueAxis

    def point(self, trial: int) -> str:
        """Return where the line of a trial crosses it."""
        return f"{self.at:g} {_from_top(self.axis.place(self.values[trial])):g}"


def _columns(trials: Sequence[StudyTrialResult], keys: Sequence[str], metric: str) -> list[_TrialValues]:
    values: dict[str, list[Any]] = {key: [each.settings.get(key) for each in trials] for key in keys}
    values[metric] = [each.value for each in trials]
    return [
        _TrialValues(name, round(number * 100 / (len(values) - 1), 2), own, _value_axis(own))
        for number, (name, own) in enumerate(values.items())
    ]


def _parallel_line(
    columns: Sequence[_TrialValues], at: int, trials: Sequence[StudyTrialResult], result: StudyResult
) -> ParallelLine:
    path = "M" + "L".join(each.point(at) for each in columns)
    usual = "raw few" if len(trials) <= FEW else "raw"
    return ParallelLine(path, "line" if _is_best(trials[at], result) else usual, _describe(trials[at], result))


def _from_top_ticks(ticks: Iterable[Tick]) -> tuple[Tick, ...]:
    return tuple(Tick(_from_top(tick.at), tick.text) for tick in ticks)


def scatter_plots(result: StudyResult) -> Iterator[Plot]:
    """Yield a scatter of the metric over each key that varies."""
    trials = _valued(result)
    for key in _varied(trials) if trials[1:] else ():
        yield _scatter_plot(key, trials, result)


def _scatter_plot(key: str, trials: Sequence[StudyTrialResult], result: StudyResult) -> Plot:
    x = _value_axis([each.settings.get(key) for each in trials])
    y = _value_axis([each.value for each in trials])
    dot = partial(_dot, key=key, x=x, y=y, result=result)
    best = [each for each in trials if _is_best(each, result)]
    others = [each for each in trials if each not in best]
    return Plot(
        title=f"{result.metric} by {key}",
        summary=f"{result.metric} of {len(trials)} trials over {key}.",
        x_ticks=x.ticks,
        y_ticks=_from_top_ticks(y.ticks),
        traces=(
            Trace("", "dots", "", "", tuple(map(dot, others))),
            Trace("best", "dots", "", "", tuple(map(dot, best))),
        ),
    )


def _dot(each: StudyTrialResult, key: str, x: ValueAxis, y: ValueAxis, result: StudyResult) -> Dot:
    return Dot(x.place(each.settings.get(key)), _from_top(y.place(each.value)), _describe(each, result))


def _valued(result: StudyResult) -> list[StudyTrialResult]:
    return [each for each in result.trials if is_number(each.value)]


def _varied(trials: Sequence[StudyTrialResult]) -> list[str]:
    """Return the keys that have several values, and not too many to label."""
    keys = dict.fromkeys(key for each in trials for key in each.settings)
    return [key for key in keys if _is_drawable([each.settings.get(key) for each in trials])]


def _is_drawable(values: Sequence[Any]) -> bool:
    different = len({spell_value(value) for value in values})
    return different > 1 and (all(map(is_number, values)) or different <= MOST_VALUES)


def _value_axis(values: Sequence[Any]) -> ValueAxis:
    """Return an axis of numbers, by powers of ten where they are far apart; or of names, evenly spread."""
    if not all(map(is_number, values)):
        return _name_axis(values)
    numbers = list(map(float, values))
    axis, different = _number_axis(numbers), sorted(set(numbers))
    labels = different if len(different) <= MOST_NUMBERS else axis.ticks
    return ValueAxis(
        lambda value: axis.percent(float(value)),
        tuple(Tick(axis.percent(label), spell_tick(label)) for label in labels),
    )


def _name_axis(values: Sequence[Any]) -> ValueAxis:
    names = sorted(set(map(spell_value, values)))
    places = {name: (at + 0.5) * 100 / len(names) for at, name in enumerate(names)}
    ticks = tuple(Tick(round(place, 2), name) for name, place in places.items())
    return ValueAxis(lambda value: round(places[spell_value(value)], 2), ticks)


def _number_axis(values: Sequence[float]) -> Axis:
    low, high = min(values), max(values)
    return log_axis(values) if low > 0 and high > WIDE * low else make_axis(low, high, margin=MARGIN)


def _from_top(percent: float) -> float:
    """Return the distance from the top, with some room above and below."""
    return round(100 - EDGE - percent * (100 - 2 * EDGE) / 100, 2)


def _is_best(each: StudyTrialResult, result: StudyResult) -> bool:
    return result.best is not None and each.settings == result.best.settings


def _describe(each: StudyTrialResult, result: StudyResult) -> str:
    seed = "" if each.seed is None else f", seed {each.seed}"
    value = "" if each.value is None else f": {result.metric} {render_number(each.value)}"
    return f"trial {each.number} ({spell_settings(each.settings)}{seed}){value}"
