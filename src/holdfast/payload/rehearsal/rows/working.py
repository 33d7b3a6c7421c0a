"""`map` and `filter` of a script's own functions: on all rows that are at hand if that is quick, else on some of them."""

import functools
import inspect
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..events import EventWriter
from ..part_request import PartRequest
from ..wrapping import wrap
from .choosing import choose_rows, first_rows
from .part import as_part, at_least, carry, is_mixed, part_of, whole_rows

FIRST_LOOK_S = 0.3  # after which it is judged how long all rows would take
ONE_CALL_S = 3.0
ALL_CALLS_S = 8.0
FEW = 128  # rows that a slow function is shown
PROCESSES = 2
SCANNED = 20_000  # rows that the longest and strangest are looked for among
SCANNED_BYTES = 64 << 20
AT_LEAST_SHOWN = 64  # rows that stand for those that a filter would keep


class TooSlowError(Exception):
    """A script's function would take too long for all rows that are at hand."""


class FunctionRunner:
    """Runs functions of the script on rows, within a time for all of them."""

    def __init__(self, part_request: PartRequest, events: EventWriter) -> None:
        self._part_request, self._events = part_request, events
        self._left_s = ALL_CALLS_S
        self._inside = False  # `filter` maps

    def install(self, module: Any) -> None:
        """Take the place of `map` and `filter` of a `datasets.Dataset`."""
        wrap(module.Dataset, "map", self._map)
        wrap(module.Dataset, "filter", self._filter)

    def _map(self, original: Callable[..., Any], dataset: Any, *args: Any, **kwargs: Any) -> Any:
        if self._inside:
            return original(dataset, *args, **kwargs)
        bound = inspect.signature(original).bind(dataset, *args, **kwargs).arguments
        bound.pop("self")
        return self._work(original, dataset, self._quiet(bound))

    def _filter(self, original: Callable[..., Any], dataset: Any, *args: Any, **kwargs: Any) -> Any:
        if self._inside:
            return original(dataset, *args, **kwargs)
        bound = inspect.signature(original).bind(dataset, *args, **kwargs).arguments
        bound.pop("self")
        bound = self._quiet(bound)
        left = self._work(original, dataset, bound)
        part = part_of(left) or part_of(dataset)
        if len(left) == 0 and len(dataset) and part:
            return self._nothing_left(original, dataset, bound)
        return at_least(left, whole_rows(left))

    def _work(self, original: Callable[..., Any], dataset: Any, given: dict[str, Any]) -> Any:
        """Return the result of a function for the rows; for a few of them if it is slow."""
        function = given.get("function")
        if function is None or len(dataset) <= FEW or inspect.iscoroutinefunction(function):
            return carry(dataset, self._call(original, dataset, given))
        began_s, limit_s = time.perf_counter(), max(FIRST_LOOK_S, min(ONE_CALL_S, self._left_s))
        size = given.get("batch_size", 1000) if given.get("batched") else 1
        calls = -(-len(dataset) // (size or len(dataset)) // (given.get("num_proc") or 1))
        try:
            timed = given | {"function": BoundedFunction(function, calls, limit_s)}
            return carry(dataset, self._call(original, dataset, timed))
        except TooSlowError:
            self._events.shrunk(f"rows given to {_name(function)}", whole_rows(dataset), FEW, unit="rows")
            few = fewer(dataset, FEW)
            return carry(few, self._call(original, few, given))
        finally:
            self._left_s -= time.perf_counter() - began_s

    def _call(self, original: Callable[..., Any], dataset: Any, given: dict[str, Any]) -> Any:
        self._inside = True
        try:
            return original(dataset, **given)
        finally:
            self._inside = False

    def _nothing_left(self, original: Callable[..., Any], dataset: Any, given: dict[str, Any]) -> Any:
        """Look on where a filter leaves none of the rows at hand."""
        part = part_of(dataset)
        spare = part.spare if part else None
        if spare is not None and spare.features == dataset.features:
            limited = given | {"function": BoundedFunction(given["function"], 0, ONE_CALL_S)}
            with suppress(TooSlowError):
                left = carry(spare, self._call(original, spare, limited))
                if len(left) or part_of(spare) is None:  # all have been looked at
                    return at_least(left, whole_rows(left))
        name = _name(given["function"])
        self._events.not_rehearsed(
            f"rows that {name} keeps",
            f"none of {len(dataset)} rows at hand is kept, of {whole_rows(dataset)}; `filter` over all of them shows it",
        )
        return as_part(
            dataset.select(range(min(len(dataset), AT_LEAST_SHOWN))), whole_rows(dataset), mixed=is_mixed(dataset)
        )

    def _quiet(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return arguments with few processes."""
        if (given.get("num_proc") or 0) > PROCESSES:
            given["num_proc"] = PROCESSES
        return given


class BoundedFunction:
    """A script's function that gives up where all rows would take too long."""

    def __init__(self, function: Callable[..., Any], calls: int, limit_s: float) -> None:
        self.function, self.calls, self.limit_s = function, calls, limit_s
        self.done = 0
        self.began_s = 0.0
        self.process = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's result.

        Raises:
            TooSlowError: All rows would take longer than there is time for.
        """
        now_s = time.perf_counter()
        if not self.began_s or self.process != os.getpid():  # a clock of its own in each process
            self.began_s, self.process, self.done = now_s, os.getpid(), 0
        passed_s = now_s - self.began_s
        expected_s = passed_s * self.calls / self.done if self.done and passed_s > FIRST_LOOK_S else 0.0
        if passed_s > self.limit_s or expected_s > self.limit_s:
            raise TooSlowError
        self.done += 1
        return self.function(*args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a fingerprint, and for another process: no times."""
        return {**vars(self), "done": 0, "began_s": 0.0, "process": 0}


def fewer(dataset: Any, count: int) -> Any:
    """Return a part with that many rows of a dataset, the longest and strangest of its first ones among them."""
    if len(dataset) <= count:
        return dataset
    part = part_of(dataset)
    chosen = dataset.select(choose_rows(first_rows(dataset, SCANNED, SCANNED_BYTES), count))
    spare = part.spare if part and part.spare is not None else dataset
    return as_part(chosen, whole_rows(dataset), mixed=is_mixed(dataset), spare=spare)


def _name(function: Any) -> str:
    inner = function.func if isinstance(function, functools.partial) else function
    return str(getattr(inner, "__qualname__", type(inner).__name__))
