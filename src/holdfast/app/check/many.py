"""Checking many files: results of unchanged files come from the cache, the other files are checked on all cores."""

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from holdfast.adapters.environment.forked_pool import forked_pool
from holdfast.adapters.storage.check_cache import (
    CacheBasis,
    CheckCache,
    CheckEnvironment,
    cache_folder,
    digest,
    file_digest,
)
from holdfast.adapters.targets.siblings import read_module
from holdfast.app.check.target import TargetOutcome, check_one_of_many
from holdfast.app.check.target_request import CATALOG, TargetRequest
from holdfast.core.job.target_kind import target_kind
from holdfast.results.check import TargetResult

FILES_PER_PROCESS: Final = 25
"""With fewer, another process costs more time than it saves."""

THREADED: Final = frozenset({"polars", "pyarrow", "torch"})
"""Libraries that start threads of their own; they are loaded to read rows."""


def answer_all(questions: Sequence[TargetRequest], caches: Sequence[Path | None] | None) -> list[TargetResult]:
    """Return the results of several targets, in their order.

    Args:
        questions: The requests.
        caches: For each request, the folder of the project whose cache is used, or None for the user's own cache; None
            instead of all to use no cache.
    """
    if len(questions) > FILES_PER_PROCESS:
        gc.enable()
    if caches is None:
        return [checked.result for checked in share_out(questions, check_one_of_many)]
    surroundings = CheckEnvironment(os.environ)
    kept = [
        CachedAnswer(question, CheckCache(cache_folder(folder, os.environ)), surroundings)
        for question, folder in zip(questions, caches, strict=True)
    ]
    return _answer_with_cache(questions, kept)


def _answer_with_cache(questions: Sequence[TargetRequest], kept: Sequence["CachedAnswer"]) -> list[TargetResult]:
    """Return the results; those that are not cached are computed and cached."""
    answers = [each.load() for each in kept]
    open_ = [number for number, answer in enumerate(answers) if answer is None]
    checked = share_out([questions[number] for number in open_], check_one_of_many)
    for number, outcome in zip(open_, checked, strict=True):
        kept[number].save(outcome)
        answers[number] = outcome.result
    return [answer for answer in answers if answer is not None]


def share_out(
    questions: Sequence[TargetRequest], answer: Callable[[TargetRequest], TargetOutcome], processes: int | None = None
) -> Iterator[TargetOutcome]:
    """Yield the results, in order, with as many processes as save time.

    One process does everything if the system cannot fork (starting Python takes as long as checking fifty files), or if a
    library with threads of its own is loaded (a forked process has none of the threads, and would wait for them forever).
    """
    count = processes or min(
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, len(questions) // FILES_PER_PROCESS
    )
    if count < 2 or sys.platform != "linux" or THREADED & sys.modules.keys():  # noqa: PLR2004 - one process is this one
        yield from map(answer, questions)
        return
    with forked_pool(count) as pool:
        yield from pool.map(answer, questions, chunksize=max(1, len(questions) // (count * 8)))


class CachedAnswer:
    """The cached result of one request, if it can be cached."""

    def __init__(self, request: TargetRequest, cache: CheckCache, surroundings: CheckEnvironment) -> None:
        self._cache = cache
        self._basis = _basis(request, surroundings)

    def load(self) -> TargetResult | None:
        """Return the cached result; None if there is none."""
        return self._cache.load(self._basis) if self._basis else None

    def save(self, outcome: TargetOutcome) -> None:
        """Cache the result, unless it depends on files that are not part of the cache key, or on the Hub."""
        if self._basis and not outcome.reads_more:
            self._cache.save(self._basis, outcome.result, outcome.modules)


def _basis(request: TargetRequest, surroundings: CheckEnvironment) -> CacheBasis | None:
    """Return what a cached result depends on; None if it cannot be cached: a job file's also depends on data, uv's on the registry."""
    path = Path(request.path)
    if not target_kind(path).is_program or request.resolve != CATALOG:
        return None
    try:
        text = file_digest(path)
    except OSError:
        return None
    options = (
        *request.only,
        "-",
        *request.ignore,
        "-",
        *request.arguments,
        *["checklist"] * request.checklist,
        f"edits={request.edits}",
        f"hub={request.hub.name}",
    )
    return CacheBasis(
        name=digest(request.path, str(path.absolute()), *options),
        content=digest(surroundings.stamp(path.absolute().parent), text),
        read_module=partial(read_module, path.parent),
    )
