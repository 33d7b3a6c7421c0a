"""Student's t for whole degrees of freedom, by the closed forms of its distribution.

Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4. The base install has no scipy, which tests compare with.
"""

import math
from typing import Final

STEPS: Final = 200
"""Halvings of an interval, which leave it as wide as a float allows."""
WIDEST: Final = 1e6


def two_sided(t: float, freedom: int) -> float:
    """Return the probability that a value of Student's distribution lies between -t and t.

    >>> round(two_sided(2.776, 4), 3)
    0.95
    """
    angle = math.atan2(abs(t), math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    if freedom == 1:
        return 2 * angle / math.pi
    odd = freedom % 2
    term, total = (cosine if odd else 1.0), 0.0
    for step in range(1 + odd, freedom, 2):
        total += term
        term *= cosine * cosine * step / (step + 1)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def half_width(freedom: int, confidence: float = 0.95) -> float:
    """Return the t of which that much of the distribution lies between -t and t.

    >>> round(half_width(4), 3), round(half_width(1), 2)
    (2.776, 12.71)
    """
    low, high = 0.0, WIDEST
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided(middle, freedom) < confidence else (low, middle)
    return (low + high) / 2
