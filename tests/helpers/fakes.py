"""Stand-ins for the doors, for tests that need no world."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.backends import BackendCapabilities
from holdfast.core.run.checkpoint import CheckpointIntegrity
from holdfast.core.run.event import Diagnosed, Event, Liveness, Reported
from holdfast.core.run.plan import Attempt, Plan
from holdfast.ports import Order, OutputNews, PollResult

PLAN = Plan(name="job", script="print('trained')\n", script_name="train.py", cwd="/")


def any_step(_: int) -> bool:
    return True


def undiagnosed(run: object, attempt: int, now_s: float) -> Diagnosed:  # noqa: ARG001 - the run decides nothing
    """Stand-in for `diagnose_attempt` that finds no cause."""
    return Diagnosed(at_s=now_s, attempt=attempt)


class FakeStore:
    """A ledger in memory."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, Event]] = []

    def append(self, run: str, events: Iterable[Event]) -> None:
        self.rows += [(run, event) for event in events]

    def read(self, run: str, *, after: int = 0) -> list[tuple[int, Event]]:
        return [(n, event) for n, (name, event) in enumerate(self.rows, 1) if name == run and n > after]


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a poll finds, with the reports that the training process made meanwhile."""

    answer: Liveness
    exit_code: int | None = None
    because: str = ""
    phase: str = ""
    waiting: bool = False
    reports: Sequence[dict[str, Any]] = ()


class FakeBackend:
    """Answers each poll with the next look of the script; when it ran out the attempt has finished. It is its output too."""

    capabilities = BackendCapabilities(name="fake", poll_s=0.5)
    retrieval = None

    def __init__(self, looks: Iterable[Look] = ()) -> None:
        self._looks = iter(looks)
        self._reports: Sequence[dict[str, Any]] = ()
        self.submitted: list[str] = []
        self.stopped: list[str] = []
        self.killed: list[str] = []
        self.polled: list[tuple[str, int]] = []
        self.fetched: list[str] = []

    def submit(self, attempt: Attempt) -> str:
        if attempt.id not in self.submitted:
            self.submitted.append(attempt.id)
        return attempt.id

    def poll(self, attempt_id: str) -> PollResult:  # noqa: ARG002 - there is but one
        last = Look(answer=Liveness.ENDED, exit_code=0, reports=[{"event": "end", "status": "finished"}])
        look = next(self._looks, last)
        self._reports = look.reports
        return PollResult(
            answer=look.answer,
            exit_code=look.exit_code,
            because=look.because,
            phase=look.phase,
            waiting=look.waiting,
        )

    def read(self, attempt: AttemptState, at_s: float, *, ended: bool) -> OutputNews:  # noqa: ARG002 - it is never late
        self.polled.append((attempt.id, attempt.reports))
        return OutputNews(events=[Reported(at_s=at_s, attempt=attempt.number, said=said) for said in self._reports])

    def newest_checkpoint(
        self,
        attempt: AttemptState,  # noqa: ARG002 - it saves none
        saved: Collection[str],  # noqa: ARG002
        usable: Callable[[int], bool] = any_step,  # noqa: ARG002
    ) -> tuple[str | None, Sequence[CheckpointIntegrity]]:
        return None, ()

    def fetch(self, attempt: AttemptState) -> None:
        self.fetched.append(attempt.id)

    def stop(self, attempt_id: str) -> None:
        self.stopped.append(attempt_id)

    def kill(self, attempt_id: str) -> None:
        self.killed.append(attempt_id)

    def request_stacks(self, attempt_id: str) -> None:
        raise NotImplementedError


class FakeClock:
    """A clock on which only sleeping takes time."""

    def __init__(self) -> None:
        self.now = 1000.0

    def now_s(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class FakeOrders:
    """A person who says these things, one a look; None is silence."""

    def __init__(self, *orders: Order | None) -> None:
        self._orders = iter(orders)

    def take(self) -> Order | None:
        return next(self._orders, None)
