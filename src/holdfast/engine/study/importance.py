"""Which settings mattered: how much of the differences between trials each explains by itself.

Source: omega squared of a one-way analysis of variance (Hays 1963), of the ranks of the values, so that a trial that diverged does not
decide everything. It does not see what two settings do together.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Final

from holdfast.core.study.trial import SEED_KEY, TrialOutcome
from holdfast.core.text.json_text import render_canonical
from holdfast.core.text.numbers import is_number

FEWEST_TRIALS: Final = 12
"""With fewer values, chance explains as much as a setting."""
PARTS: Final = 4
"""Groups of equal size that the values of a number are parted into, if most trials have one of their own."""


def rank_settings(outcomes: Sequence[TrialOutcome]) -> dict[str, float]:
    """Return the share of the differences that each varied key explains, between 0 and 1, the largest first.

    The dictionary is empty with fewer than 12 values.
    """
    valued = [each for each in outcomes if each.value is not None]
    if len(valued) < FEWEST_TRIALS:
        return {}
    ranks = _ranks([each.value or 0.0 for each in valued])
    rows = [{**each.trial.values} for each in valued]
    shares = {key: share for key in _keys(rows) if (share := _share([row.get(key) for row in rows], ranks)) is not None}
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def _keys(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    keys = dict.fromkeys(key for row in rows for key in row)
    return [*(key for key in keys if key != SEED_KEY), *(key for key in keys if key == SEED_KEY)]


def _share(values: Sequence[Any], ranks: Sequence[float]) -> float | None:
    """Return omega squared of the groups that the values of a key make; None if it makes fewer than two, or only single ones."""
    groups = list(_groups(values, ranks))
    count, center = len(ranks), fmean(ranks)
    if len(groups) < 2 or len(groups) >= count:  # noqa: PLR2004 - one group has nothing beside it
        return None
    total = sum((rank - center) ** 2 for rank in ranks)
    between = sum(len(group) * (fmean(group) - center) ** 2 for group in groups)
    if not total:
        return 0.0
    within = (total - between) / (count - len(groups))
    return max(0.0, (between - (len(groups) - 1) * within) / (total + within))


def _groups(values: Sequence[Any], ranks: Sequence[float]) -> Iterator[list[float]]:
    """Yield the ranks of trials with the same value, or with numbers of the same quarter."""
    labels = list(map(render_canonical, values))
    if 2 * len(set(labels)) > len(labels) and all(map(is_number, values)):
        order = _ranks(list(map(float, values)))
        labels = [str(int((place - 0.5) / len(order) * PARTS)) for place in order]
    for label in dict.fromkeys(labels):
        yield [rank for rank, other in zip(ranks, labels, strict=True) if other == label]


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, from 1; equal values share the mean of theirs."""
    places: dict[float, list[int]] = {}
    for place, value in enumerate(sorted(values), start=1):
        places.setdefault(value, []).append(place)
    return [fmean(places[value]) for value in values]
