"""The trials of a study, in the order of its file: the grid, then whole settings, then what is drawn at random; each with every seed."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from typing import Any, Final

from holdfast.core.document import Document, Key
from holdfast.core.errors import GroupedError, JobError, Spot
from holdfast.core.json_text import render_canonical
from holdfast.core.study import Study
from holdfast.core.trial import SEED_KEY, Trial
from holdfast.engine.study.conditions import is_kept
from holdfast.engine.study.drawing import draw_settings

MOST_TRIALS: Final = 100_000
"""More would take days to list, and nobody runs them."""
TRIES: Final = 1000
"""Draws for each setting that is wanted, before conditions count as too narrow."""


@dataclass(frozen=True, slots=True)
class SourcedSettings:
    """Settings, and where in the study file each value stands."""

    values: Mapping[str, Any]
    sources: Mapping[str, Key]


def expand_trials(study: Study, document: Document) -> list[Trial]:
    """Return the trials of a study. Settings that two parts of it give alike are one.

    Raises:
        GroupedError: Of a JobError: there are none, too many, or the conditions leave too few to draw.
    """
    _require_few(study, document)
    _require_one_seed(study, document)
    distinct: dict[str, SourcedSettings] = {}
    for each in _all_settings(study, document):
        distinct.setdefault(render_canonical(each.values), each)
    settings = list(distinct.values())
    if not settings:
        fix = "add `grid`, `trials`, `random` or `seeds`, or loosen `where` and `unless`"
        raise _refusal(document, (), "the study has no trial", fix)
    seeds: list[int | None] = [*dict.fromkeys(study.seeds)] or [None]
    pairs = product(settings, seeds)
    return [
        Trial(number=number, settings=each.values, seed=seed, sources={**each.sources, SEED_KEY: ("seeds",)})
        for number, (each, seed) in enumerate(pairs, start=1)
    ]


def varied_keys(study: Study) -> list[str]:
    """Return the keys of the job that a study varies, without the seed, in the order of the file."""
    drawn = study.random.values if study.random else {}
    return [*dict.fromkeys([*(study.grid or {}), *(key for each in study.trials for key in each), *drawn])]


def _all_settings(study: Study, document: Document) -> Iterator[SourcedSettings]:
    plain = study.grid is None and not study.trials and study.random is None
    yield from _kept(study, [SourcedSettings({}, {})] if plain and study.seeds else [])
    yield from _kept(study, _grid(study.grid) if study.grid else [])
    listed = enumerate(study.trials)
    yield from _kept(study, (SourcedSettings(each, {key: ("trials", at, key) for key in each}) for at, each in listed))
    yield from _drawn(study, document)


def _kept(study: Study, settings: Iterator[SourcedSettings] | list[SourcedSettings]) -> Iterator[SourcedSettings]:
    return (each for each in settings if is_kept(each.values, study.where, study.unless))


def _grid(grid: Mapping[str, list[Any]]) -> Iterator[SourcedSettings]:
    """Yield every combination; the last key varies fastest."""
    for chosen in product(*(enumerate(values) for values in grid.values())):
        named = dict(zip(grid, chosen, strict=True))
        yield SourcedSettings(
            {key: value for key, (_, value) in named.items()},
            {key: ("grid", key, at) for key, (at, _) in named.items()},
        )


def _drawn(study: Study, document: Document) -> Iterator[SourcedSettings]:
    if study.random is None:
        return
    sources: dict[str, Key] = {key: ("random", "values", key) for key in study.random.values}
    draws = (draw_settings(study.random, number) for number in range(study.random.count * TRIES))
    kept = list(islice((each for each in draws if is_kept(each, study.where, study.unless)), study.random.count))
    if len(kept) < study.random.count:
        what = f"the conditions leave {len(kept)} of the {study.random.count} settings to draw"
        raise _refusal(document, ("random", "count"), what, "loosen `where` or `unless`, or draw fewer")
    yield from (SourcedSettings(each, sources) for each in kept)


def _require_few(study: Study, document: Document) -> None:
    """Refuse more trials than anybody runs, before any is listed.

    Raises:
        GroupedError: There are.
    """
    count = math.prod(map(len, study.grid.values())) if study.grid else 0
    count += len(study.trials) + (study.random.count if study.random else 0)
    count *= max(1, len(study.seeds))
    if count > MOST_TRIALS:
        what = f"the study has {count:,} trials before its conditions; the most is {MOST_TRIALS:,}"
        raise _refusal(document, ("grid",), what, "vary less, or draw settings with `random`")


def _require_one_seed(study: Study, document: Document) -> None:
    """Refuse a study that varies the job's seed in two ways.

    Raises:
        GroupedError: It does.
    """
    if study.seeds and SEED_KEY in varied_keys(study):
        raise _refusal(document, ("seeds",), "the seed is given twice: by `seeds`, and as a setting", "keep `seeds`")


def _refusal(document: Document, key: Key, what: str, fix: str) -> GroupedError:
    place = document.place(key)
    return GroupedError(
        f"{document.path} cannot be run", [JobError(what, where=Spot(place.path, place.line, place.column), fix=fix)]
    )
