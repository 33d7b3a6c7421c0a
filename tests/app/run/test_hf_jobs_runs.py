"""Whole runs on Hugging Face Jobs, which the loopback Hub has: a lost machine costs what was not saved."""

import textwrap
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.adapters.backends.hf_jobs import HfJobsBackend
from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.run_folder import make_run_folder, save_plan
from holdfast.app.diagnose.verb import diagnose
from holdfast.app.logs.verb import logs
from holdfast.app.run.diagnosing import diagnose_attempt
from holdfast.app.run.observers import NO_OBSERVER
from holdfast.app.run.runs import Run
from holdfast.core.run.backends import HF_JOBS
from holdfast.core.run.event import RunRequested, RunStage
from holdfast.core.run.plan import Plan
from holdfast.engine.run.answers import run_result
from tests.app.run.test_faulty_backends import STEPS, TRAIN, reported_steps
from tests.helpers.fakes import undiagnosed
from tests.helpers.hub import LoopbackHub, loopback_hub
from tests.helpers.hub.jobs.mishaps import MishapKind


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """A Hub that this process asks, often."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(HfJobsBackend, "capabilities", replace(HF_JOBS, poll_s=0.05))
    monkeypatch.setenv("HOLDFAST_RUNS", str(tmp_path / "runs"))
    with loopback_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        monkeypatch.setenv("HF_TOKEN", hub.token or "")
        yield hub


def begin(tmp_path: Path, script: str = TRAIN, *, attempts: int = 1) -> Run:
    """Return a run that has a plan and no attempt."""
    ledger = Ledger(tmp_path / "runs")
    folder = make_run_folder(tmp_path / "runs", "job", "20261127-010203", lambda *_: None)
    plan = Plan(
        name="job",
        script=textwrap.dedent(script).replace("sleep(0.02)", "sleep(0.06)"),  # a mount takes a while to notice a file
        script_name="train.py",
        cwd=str(tmp_path),
        backend="hf-jobs",
        hardware="cpu-basic",
        variables={"HOLDFAST_RUN": str(folder)},
        secrets=("HF_TOKEN",),
        timeout_s=3600.0,
        attempts=attempts,
    )
    save_plan(folder, plan)
    ledger.append(folder.name, [RunRequested(at_s=time.time(), folder=str(folder))])
    return Run(name=folder.name, folder=folder, ledger=ledger)


def test_a_run_ends_well_though_its_machine_is_lost(hub: LoopbackHub, tmp_path: Path) -> None:
    """It says what happened; resumed, it goes on from a whole checkpoint that had arrived, on a fresh machine."""
    hub.jobs.mishap("machine_gone", at_line="line 10")
    hub.mute("^POST /api/jobs/me$")
    hub.jobs.trap_logs(cut_after=2, times=50)
    run = begin(tmp_path)
    lost = run.supervise(NO_OBSERVER, undiagnosed)

    assert (lost.stage, lost.because) == (RunStage.FAILED, "Job failed: the node was lost")
    assert len(hub.jobs.all) == 1
    resumed = run.supervise(NO_OBSERVER, undiagnosed)
    first, second = resumed.attempts
    begun = int((second.resume_from or "-0").rpartition("-")[2])

    assert (resumed.stage, resumed.because) == (RunStage.SUCCEEDED, "")
    assert begun in (4, 8)
    assert [step for step in reported_steps(run) if step > begun][-(STEPS - begun) :] == [*range(begun + 1, STEPS + 1)]
    assert "@holdfast" not in logs(run.name).stdout
    assert (run.folder / "model" / "model.safetensors").read_text() == "weights"
    assert first.id != second.id


def test_a_run_goes_on_by_itself_when_its_machine_is_lost(
    hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cause is in the ledger and in the answer; a fresh machine continues from what had arrived."""
    monkeypatch.setattr("holdfast.engine.recover.policy.FIRST_PAUSE_S", 0.2)
    hub.jobs.mishap("machine_gone", at_line="line 10")
    run = begin(tmp_path, attempts=3)
    state = run.supervise(NO_OBSERVER, diagnose_attempt)
    first, second = run_result(run.name, state).attempts

    assert (state.stage, state.because) == (RunStage.SUCCEEDED, "")
    assert (first.diagnosis and first.diagnosis.retry, second.diagnosis) == ("yes", None)
    assert int((second.resume_from or "-0").rpartition("-")[2]) in (4, 8)
    assert (run.folder / "model" / "model.safetensors").read_text() == "weights"


@pytest.mark.parametrize("mishap", ["out_of_credit", "out_of_memory"])
def test_what_another_attempt_does_not_help_against_costs_no_second(
    hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mishap: MishapKind
) -> None:
    """No job is submitted for it, however many attempts are allowed."""
    monkeypatch.setattr("holdfast.engine.recover.policy.FIRST_PAUSE_S", 0.2)
    hub.jobs.mishap(mishap, at_line="line 10")
    state = begin(tmp_path, attempts=3).supervise(NO_OBSERVER, diagnose_attempt)

    assert state.stage is RunStage.FAILED
    assert len(hub.jobs.all) == 1


@pytest.mark.parametrize(
    ("because", "name"),
    [
        ("Job timeout: the time that it was given on the Hub is over", "job-time-limit"),
        ("Job failed with exit code: 137. Reason: OOMKilled", "cpu-ram-oom-kill"),
        ("Job stopped: pre-paid credit balance is insufficient", "jobs-no-credit"),
        ("Failed to pull image nobody/nothing:1", "image-not-pulled"),
        ("the job was cancelled by its owner, or by the Hub (stage=CANCELED)", "job-cancelled-externally"),
        ("cannot start the job: no credit is left (402 Payment Required)", "jobs-no-credit"),
    ],
)
def test_the_reasons_of_the_backend_are_diagnosed(tmp_path: Path, because: str, name: str) -> None:
    """`diagnose` knows the words that an attempt ended with."""
    log = tmp_path / "job.log"
    log.write_text(f"{because}\n")

    assert [cause.name for cause in diagnose(str(log)).causes[:1]] == [name]
