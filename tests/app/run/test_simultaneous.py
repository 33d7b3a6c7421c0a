"""Two commands for one run at the same time: each answers with how the run ended, and no attempt follows that nobody asked for."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.run_folder import save_plan, supervising
from holdfast.app.resume.verb import resume
from holdfast.app.run.observers import NullObserver, RunObserver
from holdfast.app.run.runs import Run
from holdfast.app.run.stopping import request_stop
from holdfast.app.stop.verb import stop
from holdfast.core.errors import UnreachableError
from holdfast.core.run.event import (
    Closed,
    Event,
    Liveness,
    Polled,
    Reported,
    RunRequested,
    RunStage,
    Started,
    Starting,
    Stopper,
)
from holdfast.core.run.plan import Plan
from holdfast.core.run.run_state import RunState
from tests.helpers.fakes import FakeBackend

REFUSED = {"event": "resume", "verdict": "refused", "changes": [{"key": "seed", "before": 1, "after": 2}]}
CANCELLED = Closed(at_s=5.0, stage=RunStage.CANCELLED, because="stopped by a person")
SUCCEEDED = Closed(at_s=9.0, stage=RunStage.SUCCEEDED)


def attempted(number: int, exit_code: int = 1) -> list[Event]:
    return [
        Starting(at_s=2.0, attempt=number, backend="local"),
        Started(at_s=2.0, attempt=number, id=f"attempts/{number}"),
        Reported(at_s=3.0, attempt=number, said=REFUSED),
        Polled(at_s=4.0, attempt=number, answer=Liveness.ENDED, exit_code=exit_code),
    ]


def begun(runs: Path, *events: Event) -> Run:
    run = Run(name="train-1", folder=runs / "train-1", ledger=Ledger(runs))
    run.folder.mkdir(parents=True)
    save_plan(run.folder, Plan(name="train", script="print()\n", script_name="train.py", cwd=str(runs), processes=1))
    run.ledger.append(run.name, [RunRequested(at_s=1.0, folder=str(run.folder)), *events])
    return run


def attempts(run: Run) -> int:
    return sum(isinstance(event, Starting) for _, event in run.ledger.read(run.name))


class OtherSupervisor(NullObserver):
    """Another process: it supervises the run already, starts an attempt while this one watches, and brings it to its end."""

    def __init__(self, run: Run) -> None:
        self._run, self._lock = run, ExitStack()
        self._steps: list[Sequence[Event]] = [attempted(2, exit_code=0), [SUCCEEDED]]
        assert self._lock.enter_context(supervising(run.folder))

    def observe(self, run: object, state: RunState, events: Sequence[Event]) -> None:  # noqa: ARG002 - it does not look
        if self._steps:
            self._run.ledger.append(self._run.name, self._steps.pop(0))
        else:
            self._lock.close()


@pytest.mark.parametrize("accept_changes", [False, True])
def test_a_resume_that_comes_second_answers_with_the_end_of_the_run(tmp_path: Path, accept_changes: bool) -> None:
    """And not with the end of before, which the first one has not replaced yet."""
    run = begun(tmp_path, *attempted(1), CANCELLED)
    answer = resume(run.name, runs=tmp_path, accept_changes=accept_changes, observer=OtherSupervisor(run))

    assert (answer.stage, len(answer.attempts)) == ("succeeded", 2)


def test_changes_that_another_process_accepted_meanwhile_are_no_error(tmp_path: Path) -> None:
    """The run is followed."""
    run = begun(tmp_path, *attempted(1), CANCELLED, Starting(at_s=6.0, attempt=2, backend="local"))
    answer = resume(run.name, runs=tmp_path, accept_changes=True, observer=OtherSupervisor(run))

    assert answer.stage == "succeeded"


def test_a_run_that_another_process_ended_meanwhile_is_not_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at its state and the right to supervise it."""
    run = begun(tmp_path, *attempted(1), CANCELLED)

    def continue_late(opened: Run, _observer: RunObserver) -> Run:
        run.ledger.append(run.name, [*attempted(2, exit_code=0), SUCCEEDED])
        return opened

    monkeypatch.setattr("holdfast.app.resume.verb.continue_run", continue_late)
    answer = resume(run.name, runs=tmp_path)

    assert (answer.stage, attempts(run)) == ("succeeded", 2)


def test_a_stop_that_comes_too_late_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ended by itself after it was looked at."""
    run = begun(tmp_path, *attempted(1)[:2])

    class Ending(FakeBackend):
        def stop(self, attempt_id: str) -> None:  # noqa: ARG002 - there is but one
            run.ledger.append(run.name, [*attempted(1)[2:], Closed(at_s=9.0, stage=RunStage.FAILED)])

    monkeypatch.setattr("holdfast.app.run.stopping.attach_backend", lambda _: Ending())
    answer = stop(run.name, runs=tmp_path)

    assert (answer.stage, attempts(run)) == ("failed", 1)


@pytest.mark.parametrize("failed", [1, 2])
def test_a_stop_between_two_attempts_starts_none(tmp_path: Path, failed: int) -> None:
    """Its supervisor died in the pause after a failure: the run is closed."""
    run = begun(tmp_path, *(event for number in range(1, failed + 1) for event in attempted(number)))
    answer = stop(run.name, runs=tmp_path)

    assert (answer.stage, attempts(run)) == ("cancelled", failed)
    assert answer.because == "stopped by a person before its first reported step"


class Unreachable(FakeBackend):
    """A service that cannot be reached at first."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def stop(self, attempt_id: str) -> None:
        self.times -= 1
        if self.times >= 0:
            raise UnreachableError("no route", where="fake", fix="")
        super().stop(attempt_id)


def test_a_stop_that_does_not_arrive_is_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The training gets its time to save; whoever has to ask once more is told what that does."""
    monkeypatch.setattr("holdfast.app.run.stopping.PAUSES_S", (0.0, 0.0))
    run = begun(tmp_path, *attempted(1)[:2])
    service = Unreachable(2)
    monkeypatch.setattr("holdfast.app.run.stopping.attach_backend", lambda _: service)
    request_stop(run, run.state(), Stopper.PERSON)
    assert service.stopped == ["attempts/1"]

    service.times = 3
    with pytest.raises(UnreachableError) as refused:
        request_stop(run, run.state(), Stopper.STUDY)
    assert "`holdfast stop train-1`; it ends the job at once" in refused.value.fix
    assert service.stopped == ["attempts/1"]
