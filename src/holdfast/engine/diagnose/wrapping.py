"""Lines that a screen, an e-mail or rich broke between words, put together again."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from holdfast.engine.diagnose.tracebacks import ENDS_MESSAGE, ERROR, FRAME, START

WIDTHS: Final = (72, 76, 79, 80, 88, 99, 100, 110, 119, 120, 132)
"""Columns between whose words lines are broken."""
MOST_WRAPPED: Final = 6
"""Lines that one may have been broken into."""


def begins(text: str) -> bool:
    """True if something of its own begins in a line: an exception, a traceback, a frame, what a logger says."""
    return not text or START in text or any(each.match(text) for each in (ERROR, FRAME, ENDS_MESSAGE))


def wrapped_together(texts: Sequence[str]) -> int:
    """Return the number of lines that may be one line broken between words, as a screen, an e-mail or rich does.

    >>> wrapped_together(["x" * 70 + " too", "long-for-it and more", "another"])
    2
    """
    most = 1
    for width in WIDTHS:
        fits = [
            len(one) <= width < len(one) + 1 + len(two.split(" ", 1)[0]) and not begins(two)
            for one, two in pairwise(texts)
        ]
        most = max(most, 1 + (fits.index(False) if False in fits else len(fits)))
    return most
