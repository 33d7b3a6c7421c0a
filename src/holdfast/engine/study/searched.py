"""The settings that a study has tried, as its search takes them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.core.study.study import Distribution, SearchTrials
from holdfast.core.study.trial import TrialOutcome
from holdfast.core.text.json_text import render_canonical
from holdfast.core.text.numbers import is_number
from holdfast.engine.study.summaries import SettingSummary

Params = dict[str, int | float]
"""A setting as Optuna takes it: of a choice, its number."""


@dataclass(frozen=True, slots=True)
class SearchedSetting:
    """A setting that a study has tried, or tries.

    Attributes:
        settings: The setting, by dotted key.
        value: The mean of its metric; None if it has none.
        is_running: Whether a trial of it has still to end.
        pruned: The last step and the last value of a trial of it that the study stopped early; None if it has another value, or none.
    """

    settings: Mapping[str, Any]
    value: float | None
    is_running: bool = False
    pruned: tuple[int, float] | None = None


def searched_settings(summaries: Sequence[SettingSummary], metric: str) -> list[SearchedSetting]:
    """Return the settings of a study with their results, as a search takes them."""
    return [
        SearchedSetting(
            settings=each.settings,
            value=each.mean,
            is_running=any(outcome.is_open for outcome in each.outcomes),
            pruned=next(_pruned(each.outcomes, metric), None),
        )
        for each in summaries
    ]


def _pruned(outcomes: Iterable[TrialOutcome], metric: str) -> Iterator[tuple[int, float]]:
    return ((each.steps, each.metrics[metric]) for each in outcomes if each.pruned and metric in each.metrics)


def is_searched(search: SearchTrials, settings: Mapping[str, Any]) -> bool:
    """True if a setting lies where a search looks."""
    return params_of(search, settings) is not None


def params_of(search: SearchTrials, settings: Mapping[str, Any]) -> Params | None:
    """Return a setting as parameters of Optuna's; None if it lies elsewhere."""
    if settings.keys() != search.values.keys():
        return None
    params = {key: _param(search.values[key], value) for key, value in settings.items()}
    known = {key: each for key, each in params.items() if each is not None}
    return known if len(known) == len(params) else None


def _param(distribution: Distribution, value: Any) -> int | float | None:
    if distribution.choice is not None:
        return _index_of(value, distribution.choice)
    low, high = distribution.integers or distribution.log_uniform or distribution.uniform or (0, 1)
    may_be_fraction = distribution.integers is None
    fits = is_number(value) and low <= value <= high and (may_be_fraction or isinstance(value, int))
    return value if fits else None


def _index_of(value: Any, choices: Sequence[Any]) -> int | None:
    written = list(map(render_canonical, choices))
    return written.index(render_canonical(value)) if render_canonical(value) in written else None
