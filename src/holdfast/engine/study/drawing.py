"""Settings drawn at random. The nth draw depends on the seed, on n and on the key alone, so that more draws keep the first ones."""

import math
import random
from typing import Any, Final

from holdfast.core.study import Distribution, RandomTrials

DIGITS: Final = 6
"""Significant digits of a number that is drawn: more would tell nothing, and people copy them."""


def draw_settings(drawn: RandomTrials, number: int) -> dict[str, Any]:
    """Return the setting of a draw, by dotted key.

    Args:
        drawn: What to draw from.
        number: The number of the draw, from 0.
    """
    return {
        # From a text, the generator is the same on every machine and in every release of Python.
        key: _draw(each, random.Random(f"{drawn.seed}/{number}/{key}"))  # noqa: S311 - no secret
        for key, each in drawn.values.items()
    }


def _draw(distribution: Distribution, dice: random.Random) -> Any:
    if distribution.choice is not None:
        return distribution.choice[int(dice.random() * len(distribution.choice))]
    if distribution.integers is not None:
        first, last = distribution.integers
        return first + int(dice.random() * (last - first + 1))
    if distribution.log_uniform is not None:
        bottom, top = map(math.log, distribution.log_uniform)
        return rounded(math.exp(bottom + dice.random() * (top - bottom)), distribution.log_uniform)
    low, high = distribution.uniform or (0.0, 1.0)
    return rounded(low + dice.random() * (high - low), (low, high))


def rounded(value: float, bounds: tuple[float, float]) -> float:
    """Return a number with few digits, within its bounds.

    >>> rounded(0.000123456789, (0.0, 1.0)), rounded(1.0000000001, (0.0, 0.99))
    (0.000123457, 0.99)
    """
    return min(max(float(f"{value:.{DIGITS}g}"), bounds[0]), bounds[1])
