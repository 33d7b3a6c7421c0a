"""What a run has before its first attempt."""

from pathlib import Path

import pytest

from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.run_folder import load_plan, make_run_folder
from holdfast.app.run.preparing import check_job, prepare_run
from holdfast.app.run.runs import NO_OBSERVER, Run
from holdfast.core.plan import Attempt, RunRequest


def test_runs_of_the_same_name_have_attempts_of_different_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service serves several runs folders: those of two people, or of two projects."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print(1)\n")
    request = RunRequest(target="train.py", cwd=str(tmp_path), offline=True, rehearse=False)
    monkeypatch.setattr("random.SystemRandom.choices", lambda *_, **__: "x7")
    ids = set[str]()
    for runs in (tmp_path / "mine", tmp_path / "yours"):
        folder = make_run_folder(runs, "job", "20261127-010203")
        run = Run(name=folder.name, folder=folder, ledger=Ledger(runs))
        prepare_run(run, check_job(request, "train.py"), request, NO_OBSERVER)
        of_run = {Attempt(run=run.name, number=1, folder="", plan=load_plan(folder)).id for _ in range(2)}
        assert len(of_run) == 1
        ids |= of_run

    assert len(ids) == 2
