"""A real training of two processes, of which one hangs: it is ended, that one is named, and the run goes on."""

import json
import sys
from pathlib import Path

import pytest

from holdfast.adapters.payload import load_runtime
from holdfast.app.run.verb import run
from tests.app.run.test_remedied_trainings import JOB, ROWS, fault
from tests.helpers import training_faults

pytestmark = [pytest.mark.train, pytest.mark.long]


def test_the_rank_that_hangs_is_named_and_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own rhythm, here with shorter times: rank 0 waits for a broadcast, and torchrun would blame it."""
    beating = load_runtime().replace("\nHEARTBEAT_S = ", "\nHEARTBEAT_S = 0.5  # ")
    monkeypatch.setattr("holdfast.app.run.runs.load_runtime", lambda: beating)
    monkeypatch.setattr("holdfast.core.rhythm.LEAST_S", 2.0)
    monkeypatch.setattr("holdfast.engine.run.supervise.STALL_GRACE_S", 0.5)
    monkeypatch.setattr("holdfast.engine.recover.policy.FIRST_PAUSE_S", 0.1)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "faults.py").write_text(Path(training_faults.__file__).read_text())
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    sets = (fault("hang@5:1"), "where.processes=2", f"where.options={{python: '{sys.executable}'}}")

    result = run("job.yaml", set=sets, rehearse=False, offline=True)

    assert (result.stage, len(result.attempts)) == ("succeeded", 2), result.because
    diagnosis = result.attempts[0].diagnosis
    assert diagnosis is not None
    assert diagnosis.where.startswith("rank 1 is in `wait` (threading.py:")
    assert "called from `training_step` (faults.py:" in diagnosis.where
    assert "rank 0 waits for it in " in diagnosis.where
    assert result.attempts[1].resume_from is not None
