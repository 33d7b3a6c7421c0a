"""What a study shows, in sentences: the same ones on the terminal and in its report."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from holdfast.engine.report.settings import spell_value
from holdfast.engine.study.summaries import LEVEL
from holdfast.engine.units import render_counted, render_duration, render_number
from holdfast.results.study import StudyBest, StudyEstimate, StudyResult, StudySettingResult

NOISE_UNKNOWN = "noise is not known: give at least two `seeds`"
COMPARISONS: Final[Mapping[str, str]] = {
    "worse": f"did worse (p < {LEVEL})",
    "within noise": "may be as good",
    "unknown": "cannot be compared",
    "other rows": "measured on other rows",
}
"""The verdicts on settings, in words."""


def spell_settings(settings: Mapping[str, Any]) -> str:
    """Return a setting on one line.

    >>> spell_settings({"train.learning_rate": 0.001, "dataset.path": "a.jsonl"}), spell_settings({})
    ('train.learning_rate 0.001, dataset.path a.jsonl', 'the job as it is')
    """
    return ", ".join(f"{key} {spell_value(value)}" for key, value in settings.items()) or "the job as it is"


def spell_interval(low: float | None, high: float | None) -> str:
    """Return an interval; empty if there is none."""
    return "" if low is None or high is None else f"{render_number(low)} to {render_number(high)}"


def describe_best(best: StudyBest) -> str:
    """Return the value of the best setting, with its interval."""
    return f"{best.metric} {render_number(best.value)} ({describe_noise(best)})"


def describe_noise(best: StudyBest) -> str:
    """Return the interval of the best setting, or why it has none."""
    if interval := spell_interval(best.low, best.high):
        return f"{interval}, 95 % over {render_counted(best.seeds, 'seed')}"
    return NOISE_UNKNOWN if best.seeds == 1 else f"all {best.seeds} values are equal"


def describe_certainty(result: StudyResult) -> str:
    """How surely the best setting is the best, by what the others show; empty if there are none.

    The lowest of several means may be so by chance: a single trial of another setting may even lie below it.
    """
    verdicts: Counter[str] = Counter(each.verdict for each in result.settings if each.difference is not None)
    listed = [f"{verdicts[verdict]} {words}" for verdict, words in COMPARISONS.items() if verdicts[verdict]]
    if not listed:
        return ""
    more = "; more `seeds` would tell" if verdicts["within noise"] + verdicts["unknown"] else ""
    return f"{render_counted(verdicts.total(), 'other setting')}: {', '.join(listed)}{more}"


def describe_difference(setting: StudySettingResult) -> str:
    """Return how a setting compares with the best one."""
    if setting.difference is None:
        return setting.verdict
    interval = spell_interval(setting.difference_low, setting.difference_high)
    shown = f"{setting.difference:+.3g}" + (f" ({interval})" if interval else "")
    verdict = "noise unknown" if setting.verdict == "unknown" else setting.verdict
    p_value = "" if setting.p_value is None else f", p {setting.p_value:.2g}"
    return f"{verdict}: {shown}{p_value}"


def describe_counts(result: StudyResult) -> str:
    """Return how many trials there are, and how they ended."""
    stages = [each.stage for each in result.trials]
    listed = [f"{stages.count(stage)} {stage}" for stage in dict.fromkeys(stages)]
    return f"{render_counted(len(stages), 'trial')}: {', '.join(listed)}" if stages else "no trials"


def describe_remaining(remaining: StudyEstimate) -> Iterator[str]:
    """Yield what is left to run, how long it will take and what it will cost."""
    if not remaining.trials:
        return
    if not remaining.permitted:
        yield f"{render_counted(remaining.trials, 'trial')} left, none within the budget"
        return
    within = f", {remaining.permitted} within the budget" if remaining.permitted < remaining.trials else ""
    yield f"{render_counted(remaining.trials, 'trial')} to run{within}, {render_counted(remaining.rehearsals, 'shape')} of job"
    between = _spell_seconds(remaining.low_s, remaining.high_s)
    if not between:
        yield remaining.because
        return
    each = _spell_seconds(remaining.trial_low_s, remaining.trial_high_s)
    yield f"{between} ({each} a trial), by {remaining.because}"
    if remaining.low_usd is not None and remaining.high_usd is not None:
        yield f"${remaining.low_usd:.2f} to ${remaining.high_usd:.2f}"


def _spell_seconds(low: float | None, high: float | None) -> str:
    """Return an interval of time; empty if it is unknown."""
    return "" if low is None or high is None else f"{render_duration(low)} to {render_duration(high)}"
