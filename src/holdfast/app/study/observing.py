"""What a study tells while it runs, and the orders that it takes."""

from collections.abc import Sequence
from typing import Protocol

from holdfast.app.run.observers import NullObserver, ObservedRun
from holdfast.core.run.event import Event, training_events
from holdfast.core.run.run_state import RunState
from holdfast.core.run.training_event import Evaluated
from holdfast.core.study.trial import Trial, TrialOutcome
from holdfast.ports import Order
from holdfast.results.study import StudyEstimate


class StudyObserver(Protocol):
    """Follows a study, and may stop it."""

    def on_progress(self, message: str) -> None:
        """Receive a message on what is done before a trial starts."""
        ...

    def on_planned(self, trials: int, remaining: StudyEstimate) -> None:
        """Receive how many trials there are, and what is left to run."""
        ...

    def on_started(self, trial: Trial, run: str, *, continued: bool) -> None:
        """Receive the start of a trial."""
        ...

    def on_ended(self, outcome: TrialOutcome) -> None:
        """Receive the end of a trial."""
        ...

    def take(self) -> Order | None:
        """Return the order given since the last call; each order is returned once."""
        ...

    def is_preparing(self, *, preparing: bool) -> None:
        """Receive whether a trial is being prepared: then an interrupt may end that at once."""
        ...


class NullStudyObserver:
    """Ignores all that it receives, and gives no orders."""

    def on_progress(self, message: str) -> None:
        """Do nothing."""

    def on_planned(self, trials: int, remaining: StudyEstimate) -> None:
        """Do nothing."""

    def on_started(self, trial: Trial, run: str, *, continued: bool) -> None:
        """Do nothing."""

    def on_ended(self, outcome: TrialOutcome) -> None:
        """Do nothing."""

    def take(self) -> Order | None:
        """Give no order."""

    def is_preparing(self, *, preparing: bool) -> None:
        """Do nothing."""


NO_STUDY_OBSERVER = NullStudyObserver()


class TrialOrders(NullObserver):
    """Passes the orders to a study on to the run of one trial, and keeps what the trial has reported."""

    def __init__(self, observer: StudyObserver) -> None:
        self._observer = observer
        self._orders: list[Order] = []
        self.evaluated: list[Evaluated] = []

    def give(self, order: Order) -> None:
        """Give the run an order."""
        self._orders.append(order)

    def observe(self, run: ObservedRun, state: RunState, events: Sequence[Event]) -> None:
        """Keep the evaluations of the run."""
        del run, state
        self.evaluated += training_events(events, Evaluated)

    def take(self) -> Order | None:
        """Return the next order, once."""
        return self._orders.pop(0) if self._orders else None

    def on_rehearsal_progress(self, message: str) -> None:
        """Pass on a message of the rehearsal."""
        self._observer.on_progress(f"rehearsal: {message}")
