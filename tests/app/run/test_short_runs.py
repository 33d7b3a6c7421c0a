"""`holdfast run --try`: a few real steps decide whether the job is started."""

import json
from pathlib import Path

import pytest

from holdfast.adapters.storage.ledger import Ledger
from holdfast.app.run.observers import NullObserver
from holdfast.app.run.verb import run
from holdfast.core.errors import UsageError
from tests.helpers.forked_backend import ForkedBackend

JOB = """\
method: sft
model: builtin:tiny-chat
dataset: {path: rows.jsonl, map: "mapping.py:rewrite"}
samples: {prompts: 0}
train: {max_steps: 9, per_device_train_batch_size: 2, max_length: 64}
"""
MAPPING = """\
import os

def rewrite(row):
    if os.environ.get("TORN"):
        raise ValueError("a row is torn")
    row["messages"] = row["messages"][-2:]  # in place, as most do
    return row
"""
ROWS = [
    {"messages": [{"role": role, "content": f"{number} plus 1"} for role in ("user", "assistant")]}
    for number in range(30)
]


class Listener(NullObserver):
    """Keeps what is said of the short run."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def on_short_run(self, said: str) -> None:
        self.said.append(said)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a job."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOLDFAST_RUNS", raising=False)
    monkeypatch.setattr("holdfast.app.run.runs.open_backend", ForkedBackend.open)
    Path("job.yaml").write_text(JOB)
    Path("mapping.py").write_text(MAPPING)
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    return tmp_path


@pytest.mark.train
def test_a_job_follows_its_short_run(place: Path) -> None:
    """Two runs: the short run's few steps, then all."""
    listener = Listener()

    result = run("job.yaml", rehearse=False, offline=True, try_first=True, observer=listener)

    assert (result.stage, result.attempts[0].steps) == ("succeeded", 9)
    assert isinstance(result.short_run, str)
    assert result.short_run.startswith("job-short-")
    assert [(place / "runs" / result.short_run / "model" / "config.json").is_file(), len(listener.said)] == [True, 2]
    assert set(Ledger(place / "runs").runs()) == {result.run, result.short_run}


@pytest.mark.train
def test_a_job_whose_short_run_fails_is_not_started(place: Path) -> None:
    """The result is the short run's, with its cause."""
    result = run("job.yaml", set={"environment.variables.TORN": "yes"}, rehearse=False, offline=True, try_first=True)

    assert (result.exit_code, result.stage) == (1, "failed")
    assert (result.summary or "").startswith("The short run did not succeed, so the job was not started.")
    assert [each for each in Ledger(place / "runs").runs() if "-short-" not in each] == []


def test_a_refused_job_is_not_tried(place: Path) -> None:
    result = run("job.yaml", set="train.learnin_rate=1", rehearse=False, offline=True, try_first=True)

    assert result.refused_by == "check"
    assert Ledger(place / "runs").runs() == [result.run]


def test_a_script_cannot_be_made_short(place: Path) -> None:
    (place / "train.py").write_text("print('trained')\n")

    with pytest.raises(UsageError, match="is not a job file"):
        run("train.py", rehearse=False, offline=True, try_first=True)
    assert not (place / "runs").exists()
