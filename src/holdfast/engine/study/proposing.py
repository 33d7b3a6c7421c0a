"""What the search of a study tries next, by the results so far: Optuna's tree-structured Parzen estimator.

A proposal depends on the search, on its number and on the results before it, and on nothing that was kept from an earlier start.
Source: Bergstra et al. 2011, "Algorithms for Hyper-Parameter Optimization"; `TPESampler` of Optuna 5.0.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from holdfast.core.json_text import render_canonical
from holdfast.core.numbers import is_number
from holdfast.core.study import Distribution, SearchTrials, Study
from holdfast.core.trial import TrialOutcome
from holdfast.engine.study.conditions import is_kept
from holdfast.engine.study.drawing import DIGITS, draw_settings, rounded
from holdfast.engine.study.summaries import SettingSummary

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

TPE_TRIES: Final = 20
"""Proposals for one setting, before conditions or repetitions leave the next to chance."""
DRAWS: Final = 2000
"""Draws for one setting, before nothing new is left to try."""
MOST_COUNTED: Final = 10_000
"""Settings of a space that are counted one by one; there are more of those than anybody tries."""
Params = dict[str, int | float]


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
    """Return what a study knows of its settings, as a search takes it."""
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


def count_settings(study: Study, search: SearchTrials) -> int:
    """Return how many settings a search tries: its count, or all that there are if these are fewer."""
    values = [_listed(each) for each in search.values.values()]
    if not all(values) or math.prod(map(len, values)) > MOST_COUNTED:
        return search.count
    settings = (dict(zip(search.values, chosen, strict=True)) for chosen in product(*values))
    distinct = {render_canonical(each) for each in settings if is_kept(each, study.where, study.unless)}
    return min(search.count, len(distinct))


def _listed(distribution: Distribution) -> Sequence[Any]:
    """Return all values of a distribution; none if they cannot be listed."""
    if distribution.integers:
        return range(distribution.integers[0], distribution.integers[1] + 1)
    bounds = distribution.log_uniform or distribution.uniform
    return distribution.choice or (_between(*bounds) if bounds else ())


def _between(low: float, high: float) -> Sequence[float]:
    """Return all numbers of a range that can be drawn, which have few digits; none if they are many.

    >>> _between(0.1, 0.100002), len(_between(0.0, 1.0))
    ([0.1, 0.100001, 0.100002], 0)
    """
    least = min(abs(low), abs(high))
    step = 10.0 ** (math.floor(math.log10(least)) - DIGITS + 1) if low * high > 0 else 0.0
    if not step or (high - low) / step > MOST_COUNTED:
        return ()
    values = [low + number * step for number in range(int((high - low) / step) + 1)]
    return sorted({rounded(each, (low, high)) for each in (*values, high)})


def count_left(study: Study, tried: Iterable[Mapping[str, Any]]) -> int:
    """Return how many settings the search of a study has still to propose; 0 if it has no search.

    Args:
        study: The study.
        tried: All settings of its trials. Those that lie where the search looks count, whatever part of the study they are from.
    """
    search = study.search
    if search is None:
        return 0
    known = {render_canonical(each) for each in tried if is_searched(search, each)}
    return max(0, count_settings(study, search) - len(known))


def is_searched(search: SearchTrials, settings: Mapping[str, Any]) -> bool:
    """True if a setting lies where a search looks."""
    return _params(search, settings) is not None


def propose_setting(study: Study, search: SearchTrials, tried: Sequence[SearchedSetting]) -> dict[str, Any] | None:
    """Return the setting to try next; None if nothing new was found that the conditions allow.

    Args:
        study: The study.
        search: Its search.
        tried: What was tried. A setting that runs is taken for one without success, so that the next lies elsewhere.
    """
    known = {render_canonical(each.settings) for each in tried}
    for number in range(DRAWS):
        if number < TPE_TRIES:
            settings = _proposed(study, search, tried, _seed(search, len(known), number))
        else:  # past those that the search began with, whose numbers are lower
            settings = draw_settings(search, DRAWS * len(known) + number)
        if render_canonical(settings) not in known and is_kept(settings, study.where, study.unless):
            return settings
    return None


def _seed(search: SearchTrials, count: int, number: int) -> int:
    return int.from_bytes(sha256(f"{search.seed}/{count}/{number}".encode()).digest()[:4])


def _proposed(study: Study, search: SearchTrials, tried: Sequence[SearchedSetting], seed: int) -> dict[str, Any]:
    """Return what Optuna proposes."""
    # Imported here, because few studies search, and it takes most of a second.
    from optuna import create_study
    from optuna.logging import WARNING, set_verbosity
    from optuna.samplers import TPESampler

    set_verbosity(WARNING)
    space = {key: _distribution(each) for key, each in search.values.items()}
    optimization = create_study(
        sampler=TPESampler(seed=seed, constant_liar=True),
        direction="minimize" if study.metric.lower_is_better else "maximize",
    )
    for each in tried:
        params = _params(search, each.settings)
        if params is not None:
            optimization.add_trial(_trial(params, space, each))
    params = optimization.ask(space).params
    return {key: _value(each, params[key]) for key, each in search.values.items()}


def _trial(params: Params, space: "dict[str, BaseDistribution]", tried: SearchedSetting) -> "FrozenTrial":
    from optuna.trial import TrialState, create_trial

    if tried.is_running:
        return create_trial(params=params, distributions=space, state=TrialState.RUNNING)
    if tried.value is None and tried.pruned:
        values = dict([tried.pruned])
        return create_trial(params=params, distributions=space, state=TrialState.PRUNED, intermediate_values=values)
    state = TrialState.FAIL if tried.value is None else TrialState.COMPLETE
    return create_trial(params=params, distributions=space, value=tried.value, state=state)


def _distribution(distribution: Distribution) -> "BaseDistribution":
    """Return a distribution of Optuna's. A choice is one of its numbers: values may be lists, which Optuna does not take."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if distribution.choice is not None:
        return CategoricalDistribution(range(len(distribution.choice)))
    if distribution.integers is not None:
        return IntDistribution(*distribution.integers)
    low, high = distribution.log_uniform or distribution.uniform or (0.0, 1.0)
    return FloatDistribution(low, high, log=distribution.log_uniform is not None)


def _value(distribution: Distribution, param: Any) -> Any:
    """Return the value that a parameter of Optuna's stands for."""
    if distribution.choice is not None:
        return distribution.choice[param]
    bounds = distribution.log_uniform or distribution.uniform
    return rounded(param, bounds) if bounds else param


def _params(search: SearchTrials, settings: Mapping[str, Any]) -> Params | None:
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
