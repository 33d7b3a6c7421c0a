"""Settings drawn at random. The nth draw depends on the seed, on n and on the key alone, so that more draws keep the first ones."""

import math
import random
from typing import Any, Final

from holdfast.core.job.document import Key
from holdfast.core.study.study import Distribution, RandomTrials, Study

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


def drawn_from(study: Study, source: Key) -> Distribution | None:
    """Return the range from which a value was drawn; None if it was not drawn, or from a list.

    Args:
        study: The study.
        source: Where the value stands in the study file.
    """
    part = {"random": study.random, "search": study.search}.get(str(source[0])) if source else None
    found = part.values.get(str(source[-1])) if part else None
    return found if found and found.choice is None else None


def whole_numbers(drawn: Distribution) -> str | None:
    """Return how to draw whole numbers instead of the fractions of a range; None if it holds fewer than two.

    >>> whole_numbers(Distribution(log_uniform=(1, 8)))
    'draw whole numbers: `integers: [1, 8]`, or list them: `choice: [1, 2, 4, 8]`'
    """
    low, high = drawn.uniform or drawn.log_uniform or (0.0, 0.0)
    first, last = math.ceil(low), math.floor(high)
    if first >= last:
        return None
    powers = [2**power for power in range(last.bit_length() if last > 0 else 0)]
    listed = sorted({first, last, *(each for each in powers if first < each < last)})
    return f"draw whole numbers: `integers: [{first}, {last}]`, or list them: `choice: {listed}`"
