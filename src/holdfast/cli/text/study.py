"""The result of a study as text."""

from collections.abc import Iterator, Sequence

from click import style

from holdfast.engine.report.settings import spell_value
from holdfast.engine.study.headline import (
    describe_best,
    describe_certainty,
    describe_counts,
    describe_difference,
    describe_remaining,
    spell_interval,
    spell_settings,
)
from holdfast.engine.units import render_counted, render_number
from holdfast.results.study import FailedTrial, StudyResult, StudySettingResult, StudyTrialResult

COLOURS = {"complete": "green", "failed": "red", "limited": "yellow", "incomplete": "yellow", "planned": "cyan"}
VERDICTS = {"best": "green", "worse": "red"}
SHOWN = 20
"""Settings, and failed trials, that are listed; the table has all."""


def render_study(result: StudyResult) -> str:
    """Return what a study shows: the best setting, the others beside it, what mattered, what failed and why."""
    return "\n".join(_lines(result))


def _lines(result: StudyResult) -> Iterator[str]:
    colour = COLOURS[result.verdict]
    yield f"{style(result.verdict, fg=colour, bold=True)} {style(result.study, bold=True)}  {describe_counts(result)}"
    if result.because:
        yield f"  {result.because}"
    if result.best:
        yield f"  best: {style(spell_settings(result.best.settings), bold=True)}: {describe_best(result.best)}"
    if certainty := describe_certainty(result):
        yield f"  {certainty}"
    if result.caveat:
        yield f"  {style(result.caveat, fg='yellow')}"
    if any(each.mean is not None for each in result.settings):
        yield ""
        yield from _table(result)
    yield from _importance(result)
    yield from _pruned([each for each in result.trials if each.pruned])
    yield from _failures(result.failed)
    yield ""
    yield from _remaining(result)


def _remaining(result: StudyResult) -> Iterator[str]:
    """Yield what is left to run, and where the best model and the report are."""
    for label, line in zip(("to run", "time", "cost"), describe_remaining(result.remaining), strict=False):
        yield f"  {style(label.ljust(6), dim=True)}  {line}"
    if result.best:
        yield f"  {style('model', dim=True)}   {result.best.model}"
    if result.verdict != "planned":
        yield f"  {style('report', dim=True)}  {result.folder}/report.html"


def _table(result: StudyResult) -> Iterator[str]:
    """Yield a row for each setting, the best first."""
    keys = list(dict.fromkeys(key for each in result.settings for key in each.settings))
    header = [*keys, "values", result.metric, "95 % over seeds", "beside the best"]
    rows = [_row(each, keys) for each in result.settings[:SHOWN]]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    yield style(_joined(header, widths), dim=True)
    for each, row in zip(result.settings, rows, strict=False):
        colour = VERDICTS.get(each.verdict)
        yield style(_joined(row, widths), fg=colour) if colour else _joined(row, widths)
    if result.settings[SHOWN:]:
        yield f"  … and {len(result.settings) - SHOWN} more; results.csv has every trial"


def _row(setting: StudySettingResult, keys: Sequence[str]) -> list[str]:
    return [
        *(spell_value(setting.settings[key]) if key in setting.settings else "" for key in keys),
        f"{len(setting.values)}/{len(setting.trials)}",
        "" if setting.mean is None else render_number(setting.mean),
        spell_interval(setting.low, setting.high),
        describe_difference(setting),
    ]


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    return f"  {'  '.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()}"


def _importance(result: StudyResult) -> Iterator[str]:
    if result.importance:
        shares = ", ".join(f"{each.key} {each.share:.0%}" for each in result.importance)
        yield ""
        yield f"  what mattered: {shares} (of the differences in rank, each key by itself)"


def _pruned(pruned: Sequence[StudyTrialResult]) -> Iterator[str]:
    """Yield why trials were stopped early, with the value that each had then."""
    if not pruned:
        return
    yield ""
    count = f"{render_counted(len(pruned), 'trial')} pruned"
    yield f"  {style(count, bold=True)}"
    yield from (f"  trial {each.number} ({spell_settings(each.settings)}): {each.pruned}" for each in pruned[:SHOWN])
    if pruned[SHOWN:]:
        yield f"  … and {len(pruned) - SHOWN} more; results.csv has every trial"


def _failures(failed: Sequence[FailedTrial]) -> Iterator[str]:
    if not failed:
        return
    yield ""
    count = f"{render_counted(len(failed), 'trial')} failed"
    yield f"  {style(count, fg='red', bold=True)}"
    for each in failed[:SHOWN]:
        name = f"{each.name}: " if each.name else ""
        yield f"  trial {each.number} ({spell_settings(each.settings)}): {name}{each.because}"
        if each.fix:
            yield f"    {style('fix:', fg='green')} {each.fix}"
    if failed[SHOWN:]:
        yield f"  … and {len(failed) - SHOWN} more; results.csv has every trial"
