"""Which trials of a study keep their checkpoints, models and exports, if only those of the best settings stay.

A setting is judged once all of its trials have a value, or were stopped early. Its mean does not change then, so what is removed cannot become one of
the best by trials that end later. What failed or was interrupted keeps everything, since it may be continued.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from holdfast.core.run.event import RunStage
from holdfast.core.study.trial import TrialOutcome
from holdfast.engine.study.summaries import SettingSummary, summarize_settings


def trials_to_empty(outcomes: Sequence[TrialOutcome], keep: int, *, lower_is_better: bool) -> list[TrialOutcome]:
    """Return the trials whose checkpoints, models and exports are removed: those of settings that are not among the best.

    Args:
        outcomes: What became of each trial.
        keep: How many settings keep theirs.
        lower_is_better: Whether the lowest value is the best.
    """
    settings = summarize_settings(outcomes, lower_is_better=lower_is_better)
    behind = _settings_behind(settings, keep)
    kept = {each.run for each in _outcomes(setting for setting in settings if setting not in behind)}
    return [each for each in _outcomes(behind) if each.run and each.run not in kept]


def _settings_behind(settings: Sequence[SettingSummary], keep: int) -> list[SettingSummary]:
    """Return the judged settings after the best ones, those without a value last."""
    judged = [each for each in settings if _is_judged(each)]
    return [*[each for each in judged if each.mean is not None][keep:], *(each for each in judged if each.mean is None)]


def _outcomes(settings: Iterable[SettingSummary]) -> Iterator[TrialOutcome]:
    return chain.from_iterable(setting.outcomes for setting in settings)


def _is_judged(setting: SettingSummary) -> bool:
    return all(
        each.pruned or (each.stage is RunStage.SUCCEEDED and each.value is not None) for each in setting.outcomes
    )
