"""Whole runs on the fake backend, whatever it does: the right verdict, each event once, never two live attempts."""

import random
import textwrap
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import pytest

from holdfast.adapters.backends.fake import FakeBackend, Faults
from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.run_folder import make_run_folder, save_plan
from holdfast.app.logs.verb import logs
from holdfast.app.run.observers import NO_OBSERVER, NullObserver, ObservedRun
from holdfast.app.run.runs import Run
from holdfast.core.run.event import Event, Polled, Reported, ReportsLost, RunRequested, RunStage
from holdfast.core.run.plan import Plan
from holdfast.core.run.run_state import RunState
from holdfast.ports import Order
from tests.adapters.backends.harnesses import processes_with
from tests.helpers.fakes import undiagnosed
from tests.helpers.sampling import sampled

STEPS = 12
TRAIN = f"""
    import hashlib, json, os, pathlib, sys, time
    from holdfast_runtime import attempt, seal
    run = pathlib.Path(os.environ["HOLDFAST_RUN"])
    live = run / "live"
    if live.exists() and pathlib.Path("/proc", live.read_text()).exists():
        (run / "model").mkdir(); (run / "model" / "twice").touch()
    live.write_text(str(os.getpid()))
    resume = os.environ["HOLDFAST_RESUME"]
    begin = int(resume.rpartition("-")[2]) if resume else 0
    attempt.write("start", max_steps={STEPS})
    for step in range(begin + 1, {STEPS} + 1):
        time.sleep(0.02)
        print("line", step)
        attempt.step = step
        attempt.write("step", step=step, max_steps={STEPS}, loss=1 / step)
        if step % 4 == 0:
            folder = run / "checkpoints" / "m-1" / f"checkpoint-{{step}}"
            folder.mkdir(parents=True, exist_ok=True)
            for name in ("trainer_state.json", "optimizer.pt", "scheduler.pt", "model.safetensors"):
                (folder / name).write_text(str(step))
            seal(folder, sorted(folder.iterdir()), step=step, world_size=1)
            attempt.write("checkpoint", step=step, path=str(folder))
    (run / "model").mkdir(exist_ok=True)
    (run / "model" / "model.safetensors").write_text("weights")
"""


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the fake has its machines; whatever was started there is gone afterwards."""
    monkeypatch.setenv("HOLDFAST_FAKE", str(tmp_path / "far away"))
    monkeypatch.setenv("HOLDFAST_RUNS", str(tmp_path / "runs"))
    yield tmp_path / "far away"
    for process in processes_with(str(tmp_path)):
        process.kill()


def begin(tmp_path: Path, faults: Faults, script: str = TRAIN, timeout_s: float | None = None) -> Run:
    """Return a run that has a plan and no attempt."""
    ledger = Ledger(tmp_path / "runs")
    folder = make_run_folder(tmp_path / "runs", "job", "20261127-010203", lambda *_: None)
    plan = Plan(
        name="job",
        script=textwrap.dedent(script),
        script_name="train.py",
        cwd=str(tmp_path),
        backend="fake",
        variables={"HOLDFAST_RUN": str(folder)},
        timeout_s=timeout_s,
        options={"faults": asdict(faults)},
    )
    save_plan(folder, plan)
    run = Run(name=folder.name, folder=folder, ledger=ledger)
    ledger.append(run.name, [RunRequested(at_s=time.time(), folder=str(folder))])
    return run


def reported_steps(run: Run) -> list[int]:
    events = [event for _, event in run.ledger.read(run.name)]
    assert not [event for event in events if isinstance(event, ReportsLost)]
    return [event.said["step"] for event in events if isinstance(event, Reported) and event.said["event"] == "step"]


def assert_whole(run: Run, state: RunState) -> None:
    """The run succeeded, each step was told, the log has each line once, and the model is here."""
    assert (state.stage, state.because) == (RunStage.SUCCEEDED, "")
    assert reported_steps(run) == list(range(1, STEPS + 1))
    assert len(state.attempts) == 1
    assert logs(run.name).stdout == "".join(f"line {step}\n" for step in range(1, STEPS + 1))
    assert (run.folder / "model" / "model.safetensors").read_text() == "weights"
    assert not (run.folder / "model" / "twice").exists()


FAULTS = {
    "none": Faults(),
    "unreachable": Faults(unreachable=0.5),
    "answers are lost": Faults(answer_lost=0.5),
    "the answer to the submit is lost": Faults(dies_at_call=1),
    "unknown": Faults(unknown=0.8),
    "stale": Faults(stale=0.8),
    "the log is cut": Faults(log_cut=0.8),
    "the log is repeated": Faults(log_repeated=0.8),
    "the log has holes": Faults(log_holes=0.4),
    "the log is out of order": Faults(log_swapped=0.4),
    "it waits for hardware": Faults(queue_s=0.3),
}


@pytest.mark.usefixtures("far")
@pytest.mark.parametrize("name", sampled(FAULTS, 3))
def test_a_run_survives_each_fault(tmp_path: Path, name: str) -> None:
    """Nobody who reads of the run can tell what the service did meanwhile."""
    run = begin(tmp_path, FAULTS[name])

    assert_whole(run, run.supervise(NO_OBSERVER, undiagnosed))


@pytest.mark.usefixtures("far")
@pytest.mark.parametrize("seed", sampled(range(1, 40), 39))
def test_a_run_survives_all_faults_together(tmp_path: Path, seed: int) -> None:
    """Each fault as often as the dice say; three supervisors leave, each after some looks."""
    dice = random.Random(seed)  # noqa: S311 - no secret

    def share() -> float:
        return dice.choice((0.0, 0.1, 0.3))

    faults = Faults(
        seed=seed,
        unreachable=share(),
        answer_lost=share(),
        dies_at_call=dice.randrange(9),
        unknown=share(),
        stale=share(),
        log_cut=share(),
        log_repeated=share(),
        log_holes=share(),
        log_swapped=share(),
    )
    run = begin(tmp_path, faults)
    observers = [*(Leaving(dice.randrange(1, 40)) for _ in range(3)), NO_OBSERVER]
    state = run.state()
    while not state.stage.ended:
        state = run.supervise(observers.pop(0), undiagnosed)

    assert_whole(run, state)


class Leaving(NullObserver):
    """A person who detaches after some looks."""

    def __init__(self, looks: int) -> None:
        self._looks = looks

    def take(self) -> Order | None:
        self._looks -= 1
        return "detach" if self._looks == 0 else None


@pytest.mark.usefixtures("far")
def test_a_run_whose_machine_is_lost_continues_from_its_newest_whole_checkpoint(tmp_path: Path) -> None:
    """The store outlives the machine; a checkpoint that was cut short there is passed over."""
    slow = TRAIN.replace('print("line", step)', 'print("line", step); time.sleep(0 if resume or step < 10 else 600)')
    run = begin(tmp_path, Faults(), slow)

    class Storm(NullObserver):
        """Takes the machine away at step 9, in the middle of a save."""

        def observe(self, run: ObservedRun, state: RunState, events: Sequence[Event]) -> None:  # noqa: ARG002
            current = state.current
            if current and current.steps == 9 and current.number == 1 and not current.stage.ended:
                (store,) = (tmp_path / "far away" / "stores").iterdir()
                half = store / "checkpoints" / "m-1" / "checkpoint-9"
                half.mkdir(exist_ok=True)
                (half / "model.safetensors").write_text("ha")
                FakeBackend(tmp_path / "far away", {}).lose_machine(current.id)

    lost = run.supervise(Storm(), undiagnosed)
    assert (lost.stage, lost.because) == (RunStage.FAILED, "it disappeared at step 9 of 12; its exit code is unknown")
    state = run.supervise(NO_OBSERVER, undiagnosed)

    assert state.stage is RunStage.SUCCEEDED
    assert state.current
    assert state.current.resume_from == str(run.folder / "checkpoints" / "m-1" / "checkpoint-8")
    assert [each.partition(":")[0] for each in state.current.passed_over] == ["checkpoint-9"]
    assert reported_steps(run) == [*range(1, 10), *range(9, 13)]
    assert not list(run.folder.rglob("optimizer.pt"))  # weights and optimizers of checkpoints stay there


@pytest.mark.usefixtures("far")
def test_a_stop_is_heard_however_bad_the_line(tmp_path: Path) -> None:
    """The run is cancelled, with all that its process said before."""

    class Impatient(NullObserver):
        """A person who stops the run when it trains."""

        trains = False

        def observe(self, run: ObservedRun, state: RunState, events: Sequence[Event]) -> None:  # noqa: ARG002
            self.trains = bool(state.current and state.current.steps)

        def take(self) -> Order | None:
            return "stop" if self.trains else None

    run = begin(tmp_path, Faults(unreachable=0.4, answer_lost=0.3), TRAIN.replace("0.02", "0.2"))
    state = run.supervise(Impatient(), undiagnosed)

    assert state.stage is RunStage.CANCELLED
    assert reported_steps(run) == list(range(1, len(reported_steps(run)) + 1))


@pytest.mark.usefixtures("far")
def test_waiting_for_hardware_is_shown_and_is_no_time_of_the_job(tmp_path: Path) -> None:
    """The timeout counts from when the attempt runs."""
    run = begin(tmp_path, Faults(queue_s=2.0), timeout_s=1.5)
    state = run.supervise(NO_OBSERVER, undiagnosed)
    phases = [event.phase for _, event in run.ledger.read(run.name) if isinstance(event, Polled)]

    assert state.stage is RunStage.SUCCEEDED, state.because
    assert phases[0] == "queued for hardware"
    assert phases.count("queued for hardware") == 1
