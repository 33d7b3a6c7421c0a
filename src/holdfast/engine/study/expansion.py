"""The trials of a study in the order of its file: grid, whole settings, random draws, search; each setting with every seed."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, product
from itertools import count as count_from
from typing import Any, Final

from holdfast.core.errors import GroupedError, JobError, Spot
from holdfast.core.job.document import Document, Key
from holdfast.core.study.study import RandomTrials, Study
from holdfast.core.study.trial import NO_NUMBER, SEED_KEY, Trial
from holdfast.core.text.json_text import render_canonical
from holdfast.engine.study.conditions import is_kept
from holdfast.engine.study.drawing import draw_settings

MOST_TRIALS: Final = 100_000
"""More would take days to list."""
FIRST_DRAWS: Final = 10
"""Settings that a search draws at random, before results tell it more."""
MOST_MISSES: Final = 10_000
"""Draws in a row that do not fit, before conditions count as too narrow."""
MOST_DRAWS: Final = 2_000_000
"""More would take minutes."""


@dataclass(frozen=True, slots=True)
class SourcedSettings:
    """Settings, and where in the study file each value stands."""

    values: Mapping[str, Any]
    sources: Mapping[str, Key]


def expand_trials(study: Study, document: Document, proposed: Sequence[Mapping[str, Any]] = ()) -> list[Trial]:
    """Return the trials of a study. Settings that two parts of it give alike are one.

    Args:
        study: The study.
        document: Its file.
        proposed: What its search has proposed so far, beyond what it draws at first.

    Raises:
        GroupedError: Of a JobError: there are none, too many, or the conditions leave too few to draw.
    """
    _require_few(study, document)
    _require_distinct_seeds(study, document)
    distinct: dict[str, SourcedSettings] = {}
    for each in chain(_all_settings(study, document), _searched(study, proposed)):
        distinct.setdefault(render_canonical(each.values), each)
    if not distinct:
        fix = "add `grid`, `trials`, `random`, `search` or `seeds`, or loosen `where` and `unless`"
        raise _refusal(document, (), "the study has no trial", fix)
    return _numbered(study, distinct.values(), first=1)


def proposed_trials(study: Study, settings: Mapping[str, Any], first: int) -> list[Trial]:
    """Return the trials of a setting that the search proposes: one for each seed.

    Args:
        study: The study.
        settings: The setting.
        first: The number of the first of them.
    """
    return _numbered(study, _searched(study, [settings]), first)


def extreme_trials(study: Study) -> list[Trial]:
    """Return a trial for each choice and each end of a range that a search may propose, to be checked before it starts. None is run."""
    if study.search is None:
        return []
    drawn = draw_settings(study.search, 0)
    extremes = [{**drawn, key: value} for key, each in study.search.values.items() for value in each.extremes]
    kept = [each for each in extremes if is_kept(each, study.where, study.unless)]
    return [replace(each, number=NO_NUMBER) for each in _numbered(study, _searched(study, kept), first=1)]


def _numbered(study: Study, settings: Iterable[SourcedSettings], first: int) -> list[Trial]:
    seeds: list[int | None] = [*study.seeds] or [None]
    return [
        Trial(number=number, settings=each.values, seed=seed, sources={**each.sources, SEED_KEY: ("seeds",)})
        for number, (each, seed) in enumerate(product(settings, seeds), start=first)
    ]


def varied_values(study: Study) -> dict[str, list[Any]]:
    """Return the values of each key that a study varies, without those of `seeds`, in the order of the file; of a range, its ends."""
    values: dict[str, list[Any]] = {key: [*listed] for key, listed in (study.grid or {}).items()}
    drawn = [(key, each.extremes) for part in (study.random, study.search) if part for key, each in part.values.items()]
    for key, more in (*((key, [value]) for each in study.trials for key, value in each.items()), *drawn):
        values.setdefault(key, []).extend(more)
    return values


def _all_settings(study: Study, document: Document) -> Iterator[SourcedSettings]:
    grid = _grid(study.grid) if study.grid else ()
    for each in chain(_job_alone(study), grid, _listed(study)):
        if is_kept(each.values, study.where, study.unless):
            yield each
    if study.random:
        yield from _drawn(study, study.random, study.random.count, document, "random")
    if study.search:
        yield from _drawn(study, study.search, min(study.search.count, FIRST_DRAWS), document, "search")


def _job_alone(study: Study) -> Iterator[SourcedSettings]:
    """Yield the job as it is, if a study varies the seed alone."""
    varies = study.grid is not None or study.trials or study.random is not None or study.search is not None
    if study.seeds and not varies:
        yield SourcedSettings({}, {})


def _listed(study: Study) -> Iterator[SourcedSettings]:
    for at, each in enumerate(study.trials):
        yield SourcedSettings(each, {key: ("trials", at, key) for key in each})


def _grid(grid: Mapping[str, list[Any]]) -> Iterator[SourcedSettings]:
    """Yield every combination; the last key varies fastest."""
    for chosen in product(*(enumerate(values) for values in grid.values())):
        named = dict(zip(grid, chosen, strict=True))
        yield SourcedSettings(
            {key: value for key, (_, value) in named.items()},
            {key: ("grid", key, at) for key, (at, _) in named.items()},
        )


def _drawn(study: Study, drawn: RandomTrials, count: int, document: Document, name: str) -> Iterator[SourcedSettings]:
    sources: dict[str, Key] = {key: (name, "values", key) for key in drawn.values}
    kept = list(islice(_kept_draws(study, drawn), count))
    if len(kept) < count:
        what = f"the conditions leave {len(kept)} of the {count} settings to draw"
        raise _refusal(document, (name, "count"), what, "loosen `where` or `unless`, or draw fewer")
    yield from (SourcedSettings(each, sources) for each in kept)


def _kept_draws(study: Study, drawn: RandomTrials) -> Iterator[Mapping[str, Any]]:
    """Yield the draws that the conditions keep, until these turn out to be too narrow."""
    misses = 0
    for number in range(MOST_DRAWS):
        settings = draw_settings(drawn, number)
        misses += 1
        if is_kept(settings, study.where, study.unless):
            misses = 0
            yield settings
        if misses == MOST_MISSES:
            return


def _searched(study: Study, proposed: Iterable[Mapping[str, Any]]) -> Iterator[SourcedSettings]:
    """Yield the settings that the search has proposed."""
    keys = study.search.values if study.search else ()
    sources: dict[str, Key] = {key: ("search", "values", key) for key in keys}
    yield from (SourcedSettings(each, sources) for each in proposed)


def _require_few(study: Study, document: Document) -> None:
    """Refuse too many trials before any is listed.

    Raises:
        GroupedError: There are.
    """
    count = math.prod(map(len, study.grid.values())) if study.grid else 0
    count += len(study.trials) + sum(part.count for part in (study.random, study.search) if part)
    count *= max(1, len(study.seeds))
    if count > MOST_TRIALS:
        what = f"the study has {count:,} trials before its conditions; the most is {MOST_TRIALS:,}"
        raise _refusal(document, ("grid",), what, "vary less, or draw settings with `random`")


def _require_distinct_seeds(study: Study, document: Document) -> None:
    """Refuse a study that varies the job's seed in two ways, or lists a seed twice: that would be no second value.

    Raises:
        GroupedError: It does.
    """
    if study.seeds and SEED_KEY in varied_values(study):
        raise _refusal(document, ("seeds",), "the seed is given twice: by `seeds`, and as a setting", "keep `seeds`")
    first = {seed: at for at, seed in reversed([*enumerate(study.seeds)])}
    for at, seed in enumerate(study.seeds):
        if first[seed] != at:
            what = f"`seeds` lists {seed} twice: the same seed gives the same value, and tells nothing of noise"
            other = next(number for number in count_from(1) if number not in first)
            raise _refusal(document, ("seeds", at), what, f"write another one, such as {other}")


def _refusal(document: Document, key: Key, what: str, fix: str) -> GroupedError:
    place = document.place(key)
    return GroupedError(f"{document.path} cannot be run", [JobError(what, where=Spot.of(place), fix=fix)])
