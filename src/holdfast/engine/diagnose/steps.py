"""The step that training had reached, as loggers other than progress bars write it: `Epoch: [0]  [1330/3696]`, `Batch: 5000/15072`."""

import re
from collections.abc import Iterable
from typing import Final

STEPS: Final = (
    re.compile(r"\[ *(\d[\d,]*) ?/ ?(\d[\d,]*)\]"),
    re.compile(r"(?i)\b(?:batch|iter(?:ation)?|step|update)s?\W{0,3}(\d[\d,]*) ?(?:/|of) ?(\d[\d,]*)"),
    re.compile(r"\bepoch \d+: +(\d+) ?/ *(\d+)"),
    re.compile(r"(?i)\bloss\b.{0,60}?\b(\d+)(it) \[\d+:\d\d"),
)
"""How a step is written, and how many there are, if the line says so."""


def furthest_step(texts: Iterable[str]) -> tuple[int, int] | None:
    """Return the furthest step that some lines tell, and how many there are (0 if no line tells); None if they tell of no step.

    >>> furthest_step(["Epoch: [0]  [1320/3696]  eta: 0:31:45", "Epoch: [0]  [1330/3696]  eta: 0:31:38"])
    (1330, 3696)
    >>> furthest_step(["loss: 5.09 ||: : 8613it [27:42,  5.34it/s]"]), furthest_step(["RuntimeError: CUDA out of memory"])
    ((8613, 0), None)
    """
    found = (match for text in texts for pattern in STEPS if (match := pattern.search(text)))
    return max(((_count(match[1]), _count(match[2])) for match in found), default=None)


def _count(digits: str) -> int:
    return int(digits.replace(",", "")) if digits[0].isdigit() else 0
