"""Draws of a number of rows: where the whole has as many and fewer are at hand, some are drawn twice.

Covered: `random.sample`, `numpy.random.choice`, `sample` of pandas, `random_split` of torch by numbers of rows. What does not
fail is left as it is. Not covered: numpy's generators, which are not written in Python.
"""

import random
from collections.abc import Callable
from typing import Any

from ..wrapping import when_imported, wrap
from .part import most_rows


def install() -> None:
    """Have draws from the rows at hand give what those from the whole would."""
    wrap(random.Random, "sample", _sample)
    wrap(random, "sample", lambda original, *args, **kwargs: _sample(_unbound(original), random, *args, **kwargs))
    when_imported("numpy.random", lambda module: wrap(module, "choice", _choice))
    when_imported("pandas.core.generic", lambda module: wrap(module.NDFrame, "sample", _sample_frame))
    for name in ("torch.utils.data.dataset", "torch.utils.data"):
        when_imported(name, lambda module: wrap(module, "random_split", _split))


def _unbound(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _, *args, **kwargs: original(*args, **kwargs)


def _or(draw: Callable[[], Any], twice: Callable[[], Any], at_hand: int, requested: Any) -> Any:
    """Return the drawn rows; where there are too few for the draw and the whole dataset has enough, some are repeated.

    Args:
        draw: Draws.
        twice: Draws with some twice.
        at_hand: How many there are to draw from.
        requested: How many are drawn.
    """
    try:
        return draw()
    except ValueError:
        if not isinstance(requested, int) or not at_hand < requested <= most_rows(at_hand):
            raise
    return twice()


def _sample(original: Callable[..., Any], drawing: Any, population: Any, k: int, **kwargs: Any) -> Any:
    return _or(
        lambda: original(drawing, population, k, **kwargs),
        lambda: drawing.choices(population, k=k),
        len(population),
        k,
    )


def _choice(original: Callable[..., Any], a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:  # noqa: FBT001, FBT002 - numpy's
    count = a if isinstance(a, int) else len(a)
    return _or(lambda: original(a, size, replace, p), lambda: original(a, size, True, p), count, size)  # noqa: FBT003 - numpy names it so


def _sample_frame(original: Callable[..., Any], frame: Any, n: Any = None, *args: Any, **kwargs: Any) -> Any:
    again = {**kwargs, "replace": True}
    return _or(lambda: original(frame, n, *args, **kwargs), lambda: original(frame, n, **again), len(frame), n)


def _split(original: Callable[..., Any], dataset: Any, lengths: Any, *args: Any, **kwargs: Any) -> Any:
    """Split in proportion, where the lengths are of the whole."""
    rows, whole = len(dataset), sum(lengths)
    shares = [max(1, int(rows * length / whole)) for length in lengths[1:]] if whole else []
    fitting = [rows - sum(shares), *shares]
    return _or(
        lambda: original(dataset, lengths, *args, **kwargs),
        lambda: original(dataset, fitting, *args, **kwargs),
        rows,
        whole if fitting[0] > 0 else None,
    )
