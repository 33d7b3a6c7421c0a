"""The Hub's time: this machine's, plus what a test adds to it.

    hub.clock.advance(1800)     # jobs that were given half an hour end now
    hub.clock.skew_s = -7200    # and from now on the Hub says that it is two hours earlier

`advance` makes time pass: deadlines, schedules and late writes happen. `skew_s` only changes what the Hub says the time is.
"""

import time
from collections.abc import Callable
from threading import Event, Lock


class Clock:
    """A clock that a test moves forward.

    Attributes:
        skew_s: How much later than now the Hub takes it to be, in whatever it says.
    """

    def __init__(self) -> None:
        self.skew_s = 0.0
        self._ahead_s = 0.0
        self._lock = Lock()
        self._waiting: dict[str, set[Event]] = {}

    @property
    def now_s(self) -> float:
        """Unix time."""
        return time.time() + self._ahead_s

    @property
    def told_s(self) -> float:
        """Unix time as the Hub tells it."""
        return self.now_s + self.skew_s

    def advance(self, seconds: float) -> None:
        """Let time pass at once."""
        self._ahead_s += seconds
        self.stir()

    def stir(self, about: str | None = None) -> None:
        """Have those who wait for something about a job look again, or everybody."""
        with self._lock:
            groups = list(self._waiting.values()) if about is None else [self._waiting.get(about, set())]
            for event in [one for group in groups for one in group]:
                event.set()

    def wait(self, about: str, done: Callable[[], bool], until_s: float = float("inf")) -> bool:
        """Wait until something is so, and return True, or until a time comes, and return False. Whoever makes it so calls `stir`."""
        stirred = Event()
        with self._lock:
            self._waiting.setdefault(about, set()).add(stirred)
        try:
            while not done():
                left_s = until_s - self.now_s
                if left_s <= 0:
                    return False
                stirred.wait(min(left_s, 60.0))
                stirred.clear()
            return True
        finally:
            with self._lock:
                self._waiting[about].discard(stirred)
                if not self._waiting[about]:
                    del self._waiting[about]
