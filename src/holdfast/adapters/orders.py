"""What the person at the terminal asks of a supervisor, by signals."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from holdfast.ports import Order

# A supervisor that goes away leaves the training alone: logging out must not cost a run.
LEAVING = (signal.SIGTERM, signal.SIGHUP)


class SignalOrders:
    """Turns signals into orders.

    Args:
        ask: Asks the person at the terminal what Ctrl-C shall mean; None where nobody can be asked:
            the first then stops (saving first), the second kills.

    Attributes:
        interrupted: Whether the person ended the supervision.
    """

    def __init__(self, ask: Callable[[], Order | None] | None = None) -> None:
        self._ask = ask
        self._heard: list[int] = []
        self._stops = 0
        self.interrupted = False

    def take(self) -> Order | None:
        """Return what was asked since the last call, once."""
        heard, self._heard = self._heard, []
        if any(number in LEAVING for number in heard):
            return "detach"
        if signal.SIGINT not in heard:
            return None
        order = self._ask() if self._ask else self._escalate()
        self.interrupted = self.interrupted or order is not None
        return order

    def _escalate(self) -> Order:
        self._stops += 1
        return "stop" if self._stops == 1 else "kill"

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear signals within the block; outside they do what they did before."""
        before = {number: signal.signal(number, self._hear) for number in (signal.SIGINT, *LEAVING)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        self._heard.append(number)
