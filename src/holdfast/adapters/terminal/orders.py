"""Orders of the person at the terminal to a supervisor, given by signals."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, Literal, Protocol

from holdfast.ports import Order

# If the supervisor ends, training goes on: logging out must not cost a run.
LEAVING: Final = (signal.SIGTERM, signal.SIGHUP)
AGAIN_S: Final = 1.0
"""Time after the second Ctrl-C within which a third ends the training at once."""
Choice = Literal["stop", "detach", "continue"]


class InterruptQuestion(Protocol):
    """Asks the person what Ctrl-C shall mean. It never waits, so that the run stays supervised."""

    def open(self) -> None:
        """Ask."""
        ...

    def leave(self) -> None:
        """Say that the supervisor is about to detach, and what another Ctrl-C does."""
        ...

    def answer(self) -> Choice | None:
        """Return the choice; None if none was made yet."""
        ...

    def close(self) -> None:
        """Remove the question."""
        ...


class SignalOrders:
    """Turns signals into orders.

    Ctrl-C asks the question, a second one detaches, and a third within a second ends the training at once. If nobody can be
    asked, the first stops the run after it saves, and the second ends it at once. Before a run is supervised, Ctrl-C
    interrupts.

    Args:
        question: Asks the person at the terminal; None if there is no terminal.
        now_s: Returns a time in seconds; only differences count.

    Attributes:
        interrupted: Whether the person ended the supervision.
        supervising: Whether there is a run to give orders about.
    """

    def __init__(self, question: InterruptQuestion | None = None, now_s: Callable[[], float] = time.monotonic) -> None:
        self._question, self._now_s = question, now_s
        self._heard: list[tuple[int, float]] = []
        self._stops = 0
        self._asking = False
        self._leaving_s: float | None = None
        self.interrupted = False
        self.supervising = False

    def take(self) -> Order | None:
        """Return the order given since the last call, once."""
        heard, self._heard = self._heard, []
        if any(number in LEAVING for number, _ in heard):
            return "detach"
        presses = [at_s for number, at_s in heard if number == signal.SIGINT]
        order: Order | None = None
        if self._question:
            order = self._ask(presses)
        elif presses:
            order = self._escalate()
        self.interrupted = self.interrupted or order is not None
        return order

    def _escalate(self) -> Order:
        self._stops += 1
        return "stop" if self._stops == 1 else "kill"

    def _ask(self, presses: list[float]) -> Order | None:
        """Return the person's decision, by the question or by Ctrl-C again; None until they have made one."""
        for at_s in presses:
            if self._is_soon(at_s):
                return self._decided("kill")
            self._press(at_s)
        if self._leaving_s is not None:
            return None if self._is_soon(self._now_s()) else self._decided("detach")
        return self._chosen()

    def _is_soon(self, at_s: float) -> bool:
        """True within a second after the second Ctrl-C."""
        return self._leaving_s is not None and at_s - self._leaving_s <= AGAIN_S

    def _chosen(self) -> Order | None:
        """Return the person's answer to the question; None if they have given none, or want to go on."""
        choice = self._question.answer() if self._question and self._asking else None
        if choice == "continue":
            self._forget()
            return None
        return self._decided(choice) if choice else None

    def _press(self, at_s: float) -> None:
        """Handle a Ctrl-C: the first asks, the second detaches unless a third follows soon."""
        if self._question and self._asking:
            self._leaving_s = at_s
            self._question.leave()
        elif self._question:
            self._asking = True
            self._question.open()

    def _decided(self, order: Order) -> Order:
        self._forget()
        return order

    def _forget(self) -> None:
        """Remove the question, so that the next Ctrl-C asks again."""
        if self._question and self._asking:
            self._question.close()
        self._asking, self._leaving_s = False, None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handle signals within the block; outside, they do what they did before."""
        before = {number: signal.signal(number, self._hear) for number in (signal.SIGINT, *LEAVING)}
        try:
            yield
        finally:
            self._forget()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGINT and not self.supervising:
            self.interrupted = True
            raise KeyboardInterrupt
        self._heard.append((number, self._now_s()))
