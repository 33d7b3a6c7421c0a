"""The report of a study: one self-contained HTML page. Pure: values in, text out."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from holdfast.engine.report.chart import Plot, Series, draw_plot, evenly
from holdfast.engine.report.curves import Point
from holdfast.engine.report.page import TEMPLATES
from holdfast.engine.report.settings import spell_value
from holdfast.engine.report.tables import Figure
from holdfast.engine.study.headline import (
    describe_certainty,
    describe_counts,
    describe_difference,
    describe_noise,
    describe_remaining,
    spell_interval,
    spell_settings,
)
from holdfast.engine.study.setting_charts import ParallelPlot, parallel_plot, scatter_plots
from holdfast.engine.units import render_duration, render_number
from holdfast.results.study import FailedTrial, StudyResult, StudySettingResult, StudyTrialResult

MOST_CURVES: Final = 60
"""More would run into one another."""
TONES: Final = {"complete": "good", "failed": "bad", "limited": "halted", "incomplete": "halted", "planned": "busy"}
STAGE_TONES: Final = {"succeeded": "good", "failed": "bad", "refused": "bad", "cancelled": "halted", "pruned": "halted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCurves:
    """What is drawn of a trial.

    Attributes:
        number: Its number.
        metric: What the points are of.
        points: Step and value.
    """

    number: int
    metric: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """A setting, as a row of a table."""

    settings: tuple[str, ...]
    values: str
    mean: str
    interval: str
    beside: str
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """A trial, as a row of a table."""

    number: int
    settings: tuple[str, ...]
    seed: str
    value: str
    stage: str
    tone: str
    took: str
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRow:
    """A failed trial, with its cause."""

    number: int
    settings: str
    name: str
    because: str
    fix: str
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPage:
    """What the template shows, in its words."""

    study: str
    verdict: str
    tone: str
    headline: str
    certainty: str
    because: str
    caveat: str
    when: str
    figures: tuple[Figure, ...]
    plots: tuple[Plot, ...]
    keys: tuple[str, ...]
    settings: tuple[SettingRow, ...]
    parallel: ParallelPlot | None
    scatter: tuple[Plot, ...]
    importance: tuple[tuple[str, str], ...]
    failures: tuple[FailureRow, ...]
    trials: tuple[TrialRow, ...]
    metric: str
    text: str


def render_study(result: StudyResult, curves: Sequence[StudyCurves], text: str, now_s: float) -> str:
    """Return the report of a study as HTML. It needs nothing beside itself: no network, no script, no font.

    Args:
        result: The result of the study.
        curves: The curves of its trials.
        text: The study file.
        now_s: When the report is made, unix time.
    """
    return TEMPLATES.get_template("study.html.jinja").render(page=make_study_page(result, curves, text, now_s))


def make_study_page(result: StudyResult, curves: Sequence[StudyCurves], text: str, now_s: float) -> StudyPage:
    """Gather what the report says."""
    keys = tuple(dict.fromkeys(key for each in result.trials for key in each.settings))
    best = result.best
    return StudyPage(
        study=result.study,
        verdict=result.verdict,
        tone=TONES[result.verdict],
        headline=f"Best: {spell_settings(best.settings)}." if best else "No trial has a value yet.",
        certainty=describe_certainty(result),
        because=result.because,
        caveat=result.caveat,
        when=datetime.fromtimestamp(now_s, UTC).strftime("%Y-%m-%d %H:%M UTC"),
        figures=tuple(_figures(result)),
        plots=tuple(_plots(result, curves)),
        keys=keys,
        settings=tuple(_setting_row(each, keys) for each in result.settings),
        parallel=parallel_plot(result),
        scatter=tuple(scatter_plots(result)),
        importance=tuple((each.key, f"{each.share:.0%}") for each in result.importance),
        failures=tuple(map(_failure_row, result.failed)),
        trials=tuple(_trial_row(each, keys) for each in result.trials),
        metric=result.metric,
        text=text,
    )


def _figures(result: StudyResult) -> Iterator[Figure]:
    if result.best:
        yield Figure(result.metric, render_number(result.best.value), describe_noise(result.best))
    yield Figure("trials", str(len(result.trials)), describe_counts(result).partition(": ")[2])
    yield Figure("time", render_duration(result.elapsed_s), "of all trials, added up")
    if result.remaining.trials:
        yield Figure("to run", str(result.remaining.trials), "; ".join(describe_remaining(result.remaining)))


def _plots(result: StudyResult, curves: Sequence[StudyCurves]) -> Iterator[Plot]:
    """Yield a chart of each metric that has curves, the best trial's in front."""
    best = _best_trials(result)
    for metric in dict.fromkeys(each.metric for each in curves):
        if plot := _plot(metric, [each for each in curves if each.metric == metric], best):
            yield plot


def _best_trials(result: StudyResult) -> set[int]:
    """Return the numbers of the trials that share the best run."""
    return {each.number for each in result.trials if result.best and each.run == result.best.run}


def _plot(metric: str, curves: Sequence[StudyCurves], best: Container[int]) -> Plot | None:
    first = [each for each in curves if each.number in best][:1]
    others = evenly([each for each in curves if each not in first], MOST_CURVES)
    series = [
        *(Series(f"trial {each.number}, of the best setting", "line", each.points) for each in first),
        *(Series("", "raw", each.points) for each in others),
    ]
    return draw_plot(f"{metric} of {len(curves)} trials", series, render_number, readings=bool(first))


def _cells(settings: Mapping[str, Any], keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(spell_value(settings[key]) if key in settings else "" for key in keys)


def _setting_row(setting: StudySettingResult, keys: Sequence[str]) -> SettingRow:
    tones = {"best": "good", "worse": "bad"}
    return SettingRow(
        settings=_cells(setting.settings, keys),
        values=f"{len(setting.values)} of {len(setting.trials)}",
        mean="" if setting.mean is None else render_number(setting.mean),
        interval=spell_interval(setting.low, setting.high),
        beside=describe_difference(setting),
        tone=tones.get(setting.verdict, "halted"),
    )


def _trial_row(trial: StudyTrialResult, keys: Sequence[str]) -> TrialRow:
    return TrialRow(
        number=trial.number,
        settings=_cells(trial.settings, keys),
        seed="" if trial.seed is None else str(trial.seed),
        value="" if trial.value is None else render_number(trial.value),
        stage=f"pruned: {trial.pruned}" if trial.pruned else trial.stage,
        tone=STAGE_TONES.get(trial.stage, "busy"),
        took=render_duration(trial.elapsed_s) if trial.elapsed_s else "",
        run=trial.run or "",
    )


def _failure_row(failed: FailedTrial) -> FailureRow:
    return FailureRow(
        number=failed.number,
        settings=spell_settings(failed.settings),
        name=failed.name,
        because=failed.because,
        fix=failed.fix,
        run=failed.run or "",
    )
