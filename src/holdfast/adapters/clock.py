"""The real time."""

import time


class SystemClock:
    """The machine's own clock."""

    def now_s(self) -> float:
        """Unix time."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)  # noqa: TID251 - this is the clock that others take
