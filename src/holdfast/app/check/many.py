"""Checking many files: those about which nothing has changed from the cache, the others on every core."""

import gc
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from holdfast.adapters.storage.check_cache import (
    CacheBasis,
    CheckCache,
    CheckEnvironment,
    cache_folder,
    digest,
    file_digest,
)
from holdfast.adapters.targets.siblings import read_module
from holdfast.app.check.target import PROGRAMS, TargetOutcome, check_one_of_many
from holdfast.app.check.target_request import CATALOG, TargetRequest
from holdfast.results.check import TargetResult

FILES_PER_PROCESS: Final = 25
"""Fewer do not make up for starting another process, and gathering what it found."""

THREADED: Final = frozenset({"polars", "pyarrow", "torch"})
"""Libraries that start threads of their own, which rows are read with."""


def answer_all(questions: Sequence[TargetRequest], caches: Sequence[Path | None] | None) -> list[TargetResult]:
    """Return the answers to questions about several targets, in their order.

    Args:
        questions: The questions.
        caches: For each question the folder of the project whose cache keeps its answer, None for the user's own;
            None where nothing shall be read from a cache, and nothing kept.
    """
    if len(questions) > FILES_PER_PROCESS:
        gc.enable()
    if caches is None:
        return [told.result for told in share_out(questions, check_one_of_many)]
    surroundings = CheckEnvironment(os.environ)
    kept = [
        CachedAnswer(question, CheckCache(cache_folder(folder, os.environ)), surroundings)
        for question, folder in zip(questions, caches, strict=True)
    ]
    answers = [each.load() for each in kept]
    open_ = [number for number, answer in enumerate(answers) if answer is None]
    for number, told in zip(open_, share_out([questions[number] for number in open_], check_one_of_many), strict=True):
        kept[number].save(told)
        answers[number] = told.result
    return [answer for answer in answers if answer is not None]


def share_out(
    questions: Sequence[TargetRequest], answer: Callable[[TargetRequest], TargetOutcome], processes: int | None = None
) -> Iterator[TargetOutcome]:
    """Yield the answers, in order, worked out by as many processes as pay.

    Where the system cannot copy a process, one after the other: to start Python anew takes as long as fifty files. So it is
    where a library with threads of its own is loaded: the copy has none of them, and would wait for them for ever.
    """
    count = processes or min(
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, len(questions) // FILES_PER_PROCESS
    )
    if count < 2 or sys.platform != "linux" or THREADED & sys.modules.keys():  # noqa: PLR2004 - one process is this one
        yield from map(answer, questions)
        return
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("fork")) as pool:
        yield from pool.map(answer, questions, chunksize=max(1, len(questions) // (count * 8)))


class CachedAnswer:
    """The answer to one question, in the cache, as far as it can be kept there."""

    def __init__(self, request: TargetRequest, cache: CheckCache, surroundings: CheckEnvironment) -> None:
        self._cache = cache
        self._basis = _basis(request, surroundings)

    def load(self) -> TargetResult | None:
        """Return the answer, or None where it is not known."""
        return self._cache.load(self._basis) if self._basis else None

    def save(self, outcome: TargetOutcome) -> None:
        """Keep the answer, unless it rests on files that are not looked at again, or on what the Hub said."""
        if self._basis and not outcome.reads_more:
            self._cache.save(self._basis, outcome.result, outcome.modules)


def _basis(request: TargetRequest, surroundings: CheckEnvironment) -> CacheBasis | None:
    """Return the basis of a cached answer. A job file's answer depends on data and machine too, and uv's on the registry: none is cached."""
    path = Path(request.path)
    if path.suffix not in PROGRAMS or request.resolve != CATALOG:
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
