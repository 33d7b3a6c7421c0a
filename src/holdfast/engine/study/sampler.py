"""A proposal of Optuna's tree-structured Parzen estimator.

The only module that imports Optuna, which takes most of a second. It is imported when a search proposes its first setting.
"""

from collections.abc import Sequence
from typing import Any

from optuna import create_study
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.logging import WARNING, set_verbosity
from optuna.samplers import TPESampler
from optuna.trial import FrozenTrial, TrialState, create_trial

from holdfast.core.study.study import Distribution, SearchTrials, Study
from holdfast.engine.study.drawing import rounded
from holdfast.engine.study.searched import Params, SearchedSetting, params_of


def sample_setting(study: Study, search: SearchTrials, tried: Sequence[SearchedSetting], seed: int) -> dict[str, Any]:
    """Return the setting that Optuna proposes."""
    set_verbosity(WARNING)
    space = {key: _distribution(each) for key, each in search.values.items()}
    optimization = create_study(
        sampler=TPESampler(seed=seed, constant_liar=True),
        direction="minimize" if study.metric.lower_is_better else "maximize",
    )
    for each in tried:
        params = params_of(search, each.settings)
        if params is not None:
            optimization.add_trial(_trial(params, space, each))
    params = optimization.ask(space).params
    return {key: _value(each, params[key]) for key, each in search.values.items()}


def _trial(params: Params, space: dict[str, BaseDistribution], tried: SearchedSetting) -> FrozenTrial:
    if tried.is_running:
        return create_trial(params=params, distributions=space, state=TrialState.RUNNING)
    if tried.value is None and tried.pruned:
        values = dict([tried.pruned])
        return create_trial(params=params, distributions=space, state=TrialState.PRUNED, intermediate_values=values)
    state = TrialState.FAIL if tried.value is None else TrialState.COMPLETE
    return create_trial(params=params, distributions=space, value=tried.value, state=state)


def _distribution(distribution: Distribution) -> BaseDistribution:
    """Return a distribution of Optuna's. A choice is one of its numbers: values may be lists, which Optuna does not take."""
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
