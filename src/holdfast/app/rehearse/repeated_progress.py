"""Repeated progress: while a rehearsal waits, it says again what goes on, so that a slow machine does not look like a hang."""

import time
from collections.abc import Callable
from typing import Final

EVERY_S: Final = 10.0


class RepeatedProgress:
    """Says what goes on, and again every ten seconds.

    Args:
        on_progress: Called with each line.
        what: What goes on.
        stage: Returns the stage that is reached; empty if there is none.
        now_s: The clock.

    >>> clock = iter([0.0, 4.0, 11.0, 15.0])
    >>> beat = RepeatedProgress(print, "imports", now_s=lambda: next(clock))
    imports
    >>> for _ in range(3):
    ...     beat()
    imports, for 11 s now
    """

    def __init__(
        self,
        on_progress: Callable[[str], None],
        what: str,
        stage: Callable[[], str] = lambda: "",
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_progress, self._what, self._stage, self._now_s = on_progress, what, stage, now_s
        self._began_s = self._last_s = now_s()
        on_progress(what)

    def __call__(self) -> None:
        """Say it again if it is time."""
        if (now_s := self._now_s()) < self._last_s + EVERY_S:
            return
        self._last_s = now_s
        at = f", at `{stage}`" if (stage := self._stage()) else ""
        self._on_progress(f"{self._what}{at}, for {now_s - self._began_s:.0f} s now")
