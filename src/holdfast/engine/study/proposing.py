"""What the search of a study tries next, by the results so far: Optuna's tree-structured Parzen estimator.

A proposal depends on the search, on its number and on the results before it, and on nothing that was kept from an earlier start.
Source: Bergstra et al. 2011, "Algorithms for Hyper-Parameter Optimization"; `TPESampler` of Optuna 5.0.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import product
from typing import Any, Final

from holdfast.core.study.study import Distribution, SearchTrials, Study
from holdfast.core.text.json_text import render_canonical
from holdfast.engine.study.conditions import is_kept
from holdfast.engine.study.drawing import DIGITS, draw_settings, rounded
from holdfast.engine.study.searched import SearchedSetting, is_searched

TPE_TRIES: Final = 20
"""Proposals for one setting, before conditions or repetitions leave the next to chance."""
DRAWS: Final = 2000
"""Draws for one setting, before nothing new is left to try."""
MOST_COUNTED: Final = 10_000
"""Settings of a space that are counted one by one; larger spaces are never searched completely."""


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


def propose_setting(study: Study, search: SearchTrials, tried: Sequence[SearchedSetting]) -> dict[str, Any] | None:
    """Return the setting to try next; None if nothing new was found that the conditions allow.

    Args:
        study: The study.
        search: Its search.
        tried: What was tried. A setting that runs is taken for one without success, so that the next lies elsewhere.
    """
    from holdfast.engine.study.sampler import sample_setting  # imports Optuna, which few studies need

    known = {render_canonical(each.settings) for each in tried}
    for number in range(DRAWS):
        if number < TPE_TRIES:
            settings = sample_setting(study, search, tried, _seed(search, len(known), number))
        else:  # past those that the search began with, whose numbers are lower
            settings = draw_settings(search, DRAWS * len(known) + number)
        if render_canonical(settings) not in known and is_kept(settings, study.where, study.unless):
            return settings
    return None


def _seed(search: SearchTrials, count: int, number: int) -> int:
    return int.from_bytes(sha256(f"{search.seed}/{count}/{number}".encode()).digest()[:4])
