"""Observers of a run: they follow it while it is supervised, and may stop it or detach from it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from holdfast.core.run.event import Event
from holdfast.core.run.run_state import RunState
from holdfast.ports import Order
from holdfast.results.check import CheckResult


class ObservedRun(Protocol):
    """What an observer knows of a run."""

    @property
    def name(self) -> str:
        """Its name, which is also its folder's."""
        ...

    @property
    def folder(self) -> Path:
        """Its folder, absolute."""
        ...


class RunObserver(Protocol):
    """Follows a run while it is supervised, and may stop it or detach from it."""

    def on_checked(self, check: CheckResult) -> None:
        """Receive the result of `check` for a job that is about to run."""
        ...

    def on_scenario(self, said: str) -> None:
        """Receive what the scenario of the job changed in it."""
        ...

    def on_planned(self, said: str) -> None:
        """Receive what the job is estimated to need, in a few lines."""
        ...

    def on_note(self, said: str) -> None:
        """Receive a remark on the files that the run starts from."""
        ...

    def on_short_run(self, said: str) -> None:
        """Receive what is said of the short run that comes before the job."""
        ...

    def on_rehearsal_progress(self, said: str) -> None:
        """Receive a message on each step of the rehearsal before the run."""
        ...

    def on_evaluation_progress(self, said: str) -> None:
        """Receive a message on each step of the evaluation after training."""
        ...

    def on_export_progress(self, said: str) -> None:
        """Receive a message on each step of the export after training."""
        ...

    def observe(self, run: ObservedRun, state: RunState, events: Sequence[Event]) -> None:
        """Receive the run's state, and its events since the last call."""
        ...

    def take(self) -> Order | None:
        """Return the order given since the last call; each order is returned once."""
        ...

    def has_left(self) -> bool:
        """Whether a person chose to detach: the run is then supervised in the background."""
        ...


class NullObserver:
    """Ignores all that it receives, and gives no orders."""

    def on_checked(self, check: CheckResult) -> None:
        """Do nothing."""

    def on_scenario(self, said: str) -> None:
        """Do nothing."""

    def on_planned(self, said: str) -> None:
        """Do nothing."""

    def on_note(self, said: str) -> None:
        """Do nothing."""

    def on_short_run(self, said: str) -> None:
        """Do nothing."""

    def on_rehearsal_progress(self, said: str) -> None:
        """Do nothing."""

    def on_evaluation_progress(self, said: str) -> None:
        """Do nothing."""

    def on_export_progress(self, said: str) -> None:
        """Do nothing."""

    def observe(self, run: ObservedRun, state: RunState, events: Sequence[Event]) -> None:
        """Do nothing."""

    def take(self) -> Order | None:
        """Give no order."""

    def has_left(self) -> bool:
        """Never."""
        return False


NO_OBSERVER = NullObserver()
