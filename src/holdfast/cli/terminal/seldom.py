"""Progress where every line is kept, as in the log of a CI job: a line now and then is enough."""

import time
from collections.abc import Callable
from typing import Final

SELDOM_S: Final = 30.0


class SeldomLines:
    """Says which lines of progress are shown.

    Args:
        every_s: The least time between two of them; 0 for all.
        now_s: The clock.
    """

    def __init__(self, every_s: float = SELDOM_S, now_s: Callable[[], float] = time.monotonic) -> None:
        self._every_s, self._now_s = every_s, now_s
        self._last_s = now_s()

    def is_due(self) -> bool:
        """True if the next line is shown; then the time begins anew.

        >>> clock = iter([0.0, 10.0, 31.0, 40.0])
        >>> lines = SeldomLines(now_s=lambda: next(clock))
        >>> [lines.is_due() for _ in range(3)]
        [False, True, False]
        """
        if (now_s := self._now_s()) < self._last_s + self._every_s:
            return False
        self._last_s = now_s
        return True
