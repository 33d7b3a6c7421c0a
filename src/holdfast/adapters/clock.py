"""The real time."""

import time


class SystemClock:
    """The machine's clock, as it stood when this was made: a clock that is set anew meanwhile moves no deadline."""

    def __init__(self) -> None:
        self._offset_s = time.time() - time.monotonic()

    def now_s(self) -> float:
        """Unix time."""
        return self._offset_s + time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)  # noqa: TID251 - this is the clock that others take
