"""Real trainings of two processes (gloo), of which one fails, or their launcher: that one is named, and the run ends with the right model."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.adapters.payload import load_runtime
from holdfast.app.run.verb import run
from holdfast.results.run import RunResult
from tests.app.run.test_remedied_trainings import FAULTS, JOB, ROWS, difference, fault

pytestmark = [pytest.mark.train, pytest.mark.long, pytest.mark.timeout(1200)]
Training = Callable[..., RunResult]
STRAIGHT = "nothing"
FEWER_REPEATED = 1e-4
"""26 rows do not divide among two processes: a smaller batch repeats fewer of them at the end of an epoch, as its remedy says."""


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Training:
    """Run the job on two processes, with a fault in it; without one it is run once. Silences are judged by their own rhythm, here with shorter times."""
    known: dict[tuple[str, ...], RunResult] = {}
    beating = load_runtime().replace("\nHEARTBEAT_S = ", "\nHEARTBEAT_S = 0.5  # ")

    def train(name: str, *more: str) -> RunResult:
        if (name, *more) not in known:
            folder = tmp_path_factory.mktemp("run")
            (folder / "job.yaml").write_text(JOB)
            (folder / "faults.py").write_text(FAULTS.read_text())
            (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
            sets = (fault(name), *more, "where.processes=2", f"where.options={{python: '{sys.executable}'}}")
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(folder)
                patch.setenv("OMP_NUM_THREADS", "1")
                patch.setenv("HF_HUB_OFFLINE", "1")
                patch.setattr("holdfast.app.run.attempting.load_runtime", lambda: beating)
                patch.setattr("holdfast.core.run.rhythm.LEAST_S", 2.0)
                patch.setattr("holdfast.core.run.rhythm.LEAST_STALL_S", 2.0)
                patch.setattr("holdfast.engine.run.supervise.STALL_GRACE_S", 3.0)
                patch.setattr("holdfast.engine.recover.policy.FIRST_PAUSE_S", 0.1)
                known[name, *more] = run("job.yaml", set=sets, rehearse=False, offline=True)
        return known[name, *more]

    return train


@pytest.mark.parametrize(
    ("name", "cause", "where", "most"),
    [
        ("kill@5:1", "rank-died-peers-abort", "rank 1 was killed by SIGKILL; rank 0 ended after it", 0.0),
        ("kill@5:0", "rank-died-peers-abort", "rank 0 was killed by SIGKILL; rank 1 ended after it", 0.0),
        (
            "oom-train@5:1",
            "cuda-oom-train-step",
            "rank 1 failed first: OutOfMemoryError: CUDA out of memory; rank 0 ended after it",
            FEWER_REPEATED,
        ),
    ],
)
def test_the_rank_that_failed_first_is_named_and_the_run_goes_on(
    training: Training, name: str, cause: str, where: str, most: float
) -> None:
    """The other one says more, and is a victim."""
    result = training(name)

    assert (result.stage, len(result.attempts)) == ("succeeded", 2), result.because
    diagnosis = result.attempts[0].diagnosis
    assert diagnosis is not None
    assert (diagnosis.name, diagnosis.where, diagnosis.rank) == (cause, where, int(where.split()[1]))
    assert result.attempts[1].resume_from is not None
    assert difference(result, training(STRAIGHT)) <= most
    recovery = result.attempts[0].recovery
    assert bool(recovery and recovery.differs) == bool(most)


def test_the_rank_that_hangs_is_named_and_the_run_goes_on(training: Training) -> None:
    """Rank 0 waits for a broadcast, and torchrun would blame it; torch's flight recorder tells what it waits in."""
    result = training("hang@5:1")

    assert (result.stage, len(result.attempts)) == ("succeeded", 2), result.because
    diagnosis = result.attempts[0].diagnosis
    assert diagnosis is not None
    assert diagnosis.rank == 1
    assert diagnosis.where.startswith("rank 1 is in `wait` (threading.py:")
    assert "called from `strike` (faults.py:" in diagnosis.where
    assert "rank 0 waits for it in " in diagnosis.where
    assert "rank 1 has not come to collective " in diagnosis.where
    assert result.attempts[1].resume_from is not None
    assert difference(result, training(STRAIGHT)) == 0


def test_a_launcher_that_died_is_started_afresh(training: Training) -> None:
    """Its ranks save and leave before another attempt begins, so that no two attempts live at once."""
    result = training("launcher@4:0")

    assert (result.stage, len(result.attempts)) == ("succeeded", 2), result.because
    diagnosis = result.attempts[0].diagnosis
    assert diagnosis is not None
    assert diagnosis.name == "launcher-died"
    ends = [
        json.loads(path.read_text()) for path in sorted(Path(result.folder, "attempts", "1", "ranks").glob("end-*"))
    ]
    assert [end["reason"] for end in ends] == ["launcher-died", "launcher-died"]
    assert result.attempts[1].resume_from is not None
    assert difference(result, training(STRAIGHT)) == 0


def test_processes_of_one_machine_that_find_no_network_use_its_loopback_interface(training: Training) -> None:
    """The interface that the job names is not there, as in a container that was moved."""
    result = training(STRAIGHT, "environment.variables.GLOO_SOCKET_IFNAME=nosuch0")

    assert (result.stage, len(result.attempts)) == ("succeeded", 2), result.because
    diagnosis = result.attempts[0].diagnosis
    assert diagnosis is not None
    assert diagnosis.name == "nccl-network-interface"
    assert difference(result, training(STRAIGHT)) == 0
