"""The twin as a backend: attempts are parts that a rehearsal's server plays, and time passes only as the supervisor waits.

So the supervisor of real runs decides what follows a fault, in seconds: a stall takes no twenty minutes, and a pause none at all.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Any, Final

from holdfast.adapters.storage.shared_output import SharedOutput
from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.backends import BackendCapabilities
from holdfast.core.run.checkpoint import CheckpointIntegrity
from holdfast.core.run.event import EndReason, Event, Liveness, Reported
from holdfast.core.run.plan import Attempt
from holdfast.ports import Order, OutputNews, PollResult

END: Final = "end"
STOPPED: Final = {"event": END, "status": "stopped", "reason": str(EndReason.SIGNAL), "because": SIGTERM.name}
"""The last event of an attempt that the supervisor stops."""
Said = Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class PlayedAttempt:
    """An attempt that was played to its end before the supervisor sees any of it.

    Attributes:
        said: The events that it wrote, but for the last one.
        end: The last one; none if it was killed.
        exit_code: Its exit code; negative for a signal.
        stalls: Whether it stood still, and was ended for that.
        polls: How often it was polled.
    """

    said: Sequence[Said]
    end: Sequence[Said]
    exit_code: int | None
    stalls: bool = False
    polls: int = 0


class SimulatedClock:
    """A clock that goes on only during `sleep`."""

    def __init__(self) -> None:
        self._now_s = time.time()

    def now_s(self) -> float:
        """Unix time."""
        return self._now_s

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self._now_s += seconds


class TwinLedger:
    """The events of one run, in memory."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def append(self, run: str, events: Iterable[Event]) -> None:  # noqa: ARG002 - there is one run
        """Keep events."""
        self.events.extend(events)

    def read(self, run: str, *, after: int = 0) -> list[tuple[int, Event]]:  # noqa: ARG002 - it holds one run
        """Return the events after a number, each with its own."""
        return list(enumerate(self.events, start=1))[after:]


class NoOrders:
    """Nobody is at the terminal."""

    def take(self) -> Order | None:
        """Give no order."""
        return None


class TwinBackend:
    """Plays attempts, and shows them to the supervisor in two polls: all that they wrote, then their end. One that stalls does not end by itself.

    Args:
        capabilities: Those of the job's own backend, by which the supervisor decides.
        play: Plays an attempt.
        clock: The time.
        folder: The folder of the run.
    """

    retrieval = None

    def __init__(
        self,
        capabilities: BackendCapabilities,
        play: Callable[[Attempt], PlayedAttempt],
        clock: SimulatedClock,
        folder: Path,
    ) -> None:
        self.capabilities, self._play, self._clock = capabilities, play, clock
        self._attempts: dict[str, PlayedAttempt] = {}
        self._files = SharedOutput(folder)

    def submit(self, attempt: Attempt) -> str:
        """Play an attempt."""
        key = str(attempt.number)
        if key not in self._attempts:
            self._attempts[key] = self._play(attempt)
        return key

    def poll(self, attempt_id: str) -> PollResult:
        """Return that it is alive, and at the second poll that it has ended."""
        attempt = self._attempts[attempt_id]
        attempt.polls += 1
        if attempt.polls == 1 or attempt.stalls:
            return PollResult(answer=Liveness.ALIVE)
        return PollResult(answer=Liveness.ENDED, exit_code=attempt.exit_code)

    def stop(self, attempt_id: str) -> None:
        """End an attempt as if it was requested; one that stalls ignores the request."""
        attempt = self._attempts[attempt_id]
        if not attempt.stalls:
            attempt.end, attempt.exit_code = [STOPPED], 128 + SIGTERM

    def kill(self, attempt_id: str) -> None:
        """End an attempt."""
        attempt = self._attempts[attempt_id]
        attempt.stalls, attempt.end, attempt.exit_code = False, [], -SIGKILL

    def request_stacks(self, attempt_id: str) -> None:
        """Do nothing: they were taken when the part was ended."""

    def read(self, attempt: AttemptState, at_s: float, *, ended: bool) -> OutputNews:
        """Return the reports that the supervisor does not have yet; of a process that stalls, that it is still there."""
        played = self._attempts[attempt.id]
        reports = [*played.said, *(played.end if ended else ())]
        news = reports[attempt.reports :]
        if played.stalls and not news:
            news = [{"event": "heartbeat", "phase": "train", "activity": "step", "idle_s": at_s - attempt.started_s}]
        return OutputNews(events=[Reported(at_s=at_s, attempt=attempt.number, said=each) for each in news])

    def newest_checkpoint(
        self, attempt: AttemptState, saved: Collection[str], usable: Callable[[int], bool]
    ) -> tuple[str | None, Sequence[CheckpointIntegrity]]:
        """Return the newest complete checkpoint, and the newer ones that are damaged."""
        return self._files.newest_checkpoint(attempt, saved, usable)

    def fetch(self, attempt: AttemptState) -> None:
        """Do nothing: the files are here."""
