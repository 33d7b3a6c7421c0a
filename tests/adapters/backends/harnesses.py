"""How the conformance test opens each backend, and takes a machine away from an attempt. A new backend adds a class here."""

import os
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import psutil
import pytest

from holdfast.adapters.backends.fake import FakeBackend, Faults
from holdfast.adapters.backends.hf_jobs import HfJobsBackend
from holdfast.adapters.backends.hf_jobs.addresses import JobAddress
from holdfast.adapters.backends.local import LocalBackend
from holdfast.adapters.environment.marked_processes import find_marked
from holdfast.adapters.payload import load_runtime
from holdfast.app.run.runs import open_output
from holdfast.core.errors import UnreachableError
from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.event import Liveness, Reported, ReportsLost, Started, Starting
from holdfast.core.run.plan import Attempt, Plan
from holdfast.core.run.run_state import fold
from holdfast.engine.run.attempt import render_attempt
from holdfast.ports import AttemptOutput, Backend, PollResult, RemoteFile
from tests.helpers.hub import loopback_hub

Answer = TypeVar("Answer")

PATIENCE_S: Final = 30.0
NOISY: Final = Faults(
    unreachable=0.2,
    answer_lost=0.2,
    log_cut=0.3,
    log_repeated=0.3,
    log_holes=0.1,
    log_swapped=0.1,
    stale=0.2,
    unknown=0.2,
)
"""What a service may do to whoever polls, every day."""


class Harness(Protocol):
    """A backend under test.

    Attributes:
        is_heard_late: Whether an attempt hears of a stop only after a while.
    """

    is_heard_late: bool

    def open(self) -> Backend:
        """Return the backend as another process would have it, which knows of nothing that was done before."""
        ...

    def lose_machine(self, attempt_id: str) -> None:
        """Take the machine of an attempt away without a word."""
        ...

    def close(self) -> None:
        """End what was started for the test."""
        ...


@dataclass
class LocalHarness:
    """This machine."""

    folder: Path
    environment: Mapping[str, str]
    is_heard_late: bool = False

    def open(self) -> Backend:
        return LocalBackend([sys.executable], {**os.environ, **self.environment}, "")

    def lose_machine(self, attempt_id: str) -> None:
        for process in find_marked("HOLDFAST_ATTEMPT", attempt_id):
            process.kill()

    def close(self) -> None:
        """Nothing was started."""


@dataclass
class FakeHarness:
    """A service that behaves, unless faults are given."""

    folder: Path
    environment: Mapping[str, str]
    faults: Faults = field(default_factory=Faults)
    opened: int = 0
    is_heard_late: bool = False

    kind: type[FakeBackend] = FakeBackend

    def open(self) -> FakeBackend:
        self.opened += 1
        faults = replace(self.faults, seed=self.faults.seed + self.opened)
        return self.kind(self.folder / "far away", {**os.environ, **self.environment}, faults)

    def lose_machine(self, attempt_id: str) -> None:
        self.open().lose_machine(attempt_id)

    def close(self) -> None:
        """Nothing was started."""


@dataclass
class HfJobsHarness:
    """The loopback Hub, whose jobs are processes of this machine."""

    folder: Path
    environment: Mapping[str, str]
    listed_s: float = 0.0
    is_heard_late: bool = True

    def __post_init__(self) -> None:
        self._opened, patch = ExitStack(), pytest.MonkeyPatch()
        self._opened.callback(patch.undo)
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        self.hub = self._opened.enter_context(loopback_hub())
        self.hub.jobs.grace_s = 0.1
        self.hub.add_token(self.environment["HF_TOKEN"])

    def open(self) -> HfJobsBackend:
        environment = {**self.environment, "HF_ENDPOINT": self.hub.address}
        return HfJobsBackend(environment, listed_s=self.listed_s, silent_s=0.3)

    def lose_machine(self, attempt_id: str) -> None:
        address = JobAddress.parse(attempt_id)
        assert address
        self.hub.jobs.lose_machine(address.job)

    def close(self) -> None:
        self._opened.close()


class PatientBackend(FakeBackend):
    """The fake, each call of which is repeated until it is answered, as the supervisor does it. A log is read as it comes."""

    def submit(self, attempt: Attempt) -> str:
        return _reach(lambda: super(PatientBackend, self).submit(attempt))

    def stop(self, attempt_id: str) -> None:
        _reach(lambda: super(PatientBackend, self).stop(attempt_id))

    def kill(self, attempt_id: str) -> None:
        _reach(lambda: super(PatientBackend, self).kill(attempt_id))

    def request_stacks(self, attempt_id: str) -> None:
        _reach(lambda: super(PatientBackend, self).request_stacks(attempt_id))

    def list_files(self, attempt_id: str) -> Mapping[str, RemoteFile]:
        return _reach(lambda: super(PatientBackend, self).list_files(attempt_id))

    def fetch_file(self, attempt_id: str, path: str, to: str) -> None:
        _reach(lambda: super(PatientBackend, self).fetch_file(attempt_id, path, to))


def _reach(call: Callable[[], Answer]) -> Answer:
    while True:
        try:
            return call()
        except UnreachableError:
            continue


@dataclass
class NoisyHarness(FakeHarness):
    """A service that does whatever services do."""

    faults: Faults = NOISY
    kind: type[FakeBackend] = PatientBackend


HARNESSES: Final[Mapping[str, Callable[[Path, Mapping[str, str]], Harness]]] = {
    "local": LocalHarness,
    "fake": FakeHarness,
    "fake, noisy": NoisyHarness,
    "hf-jobs": HfJobsHarness,
}


def make_attempt(folder: Path, script: str, *, run: str = "run", number: int = 1, **fields: Any) -> Attempt:
    """Return an attempt whose run has its folder in `folder`."""
    attempt = folder / "runs" / "a run" / "attempts" / str(number)
    attempt.mkdir(parents=True)
    source = textwrap.dedent(script)
    runtime = load_runtime().replace("LOOK_S = 1.0", "LOOK_S = 0.05")
    (attempt / "attempt.py").write_text(render_attempt(source, "train.py", runtime))
    variables = {"HOLDFAST_RUN": str(attempt.parents[1]), **fields.pop("variables", {})}
    fields = {"hardware": "cpu-basic", "timeout_s": 3600.0, **fields}
    plan = Plan(name="job", script=source, script_name="train.py", cwd=str(folder), variables=variables, **fields)
    return Attempt(run=run, number=number, folder=str(attempt), plan=plan)


@dataclass
class Followed:
    """An attempt as a supervisor follows it; it starts again from the state that it knew, if it is opened anew."""

    backend: Backend
    output: AttemptOutput
    state: AttemptState
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    lost: int = 0
    folder: Path = Path()

    @classmethod
    def submit(cls, harness: Harness, attempt: Attempt) -> "Followed":
        """Submit an attempt and follow it."""
        backend = harness.open()
        begun = (
            Starting(at_s=0, attempt=attempt.number, backend=backend.capabilities.name),
            Started(at_s=0, attempt=attempt.number, id=backend.submit(attempt)),
        )
        state = fold(begun).current
        assert state
        run = Path(attempt.run_folder)
        return cls(backend, open_output(backend, run), state, folder=run)

    def taken_over(self, harness: Harness) -> "Followed":
        """Return the same attempt as a supervisor follows it that has just been started."""
        backend = harness.open()
        return replace(self, backend=backend, output=open_output(backend, self.folder))

    @property
    def id(self) -> str:
        return self.state.id

    def look(self) -> PollResult:
        """Poll once, and read what there is; it has ended only when all has arrived."""
        look = self.backend.poll(self.id)
        news = self.output.read(self.state, 0.0, ended=look.answer is Liveness.ENDED)
        for event in news.events:
            if isinstance(event, Reported):
                self.events.append(dict(event.said))
            self.lost += isinstance(event, ReportsLost)
        begun = Starting(at_s=0, attempt=self.state.number, backend="")
        known = replace(fold([begun]), attempts=(self.state,))
        self.state = fold(news.events, known).attempts[0]
        if look.answer is Liveness.ENDED and not news.complete:
            return replace(look, answer=Liveness.ALIVE)
        return look

    def until(self, wanted: Callable[[PollResult], object]) -> PollResult:
        """Look until something is so."""
        end = time.monotonic() + PATIENCE_S
        while not wanted(look := self.look()):
            assert time.monotonic() < end, (look, self.events, self.log())
            time.sleep(0.01)  # noqa: TID251 - a real process
        return look

    def to_its_end(self) -> PollResult:
        """Look until it has ended, and fetch its files."""
        look = self.until(lambda look: look.answer is Liveness.ENDED)
        self.output.fetch(self.state)
        return look

    def said(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == kind]

    def log(self) -> str:
        """Return what the run's folder has of both streams."""
        attempt = self.folder / "attempts" / str(self.state.number)
        streams = (attempt / "stdout.log", attempt / "stderr.log")
        return "".join(path.read_text(errors="replace") for path in streams if path.exists())


def processes_with(text: str) -> list[psutil.Process]:
    """Return the processes that have a text on their command line."""
    found = psutil.process_iter(["cmdline"])
    return [process for process in found if text in " ".join(process.info["cmdline"] or [])]
