"""A run that starts from the checkpoint of another run, in a folder."""

import json
from pathlib import Path

import pytest

from holdfast.app.resume.verb import resume
from holdfast.app.run.verb import run
from tests.app.run.test_remedied_trainings import FAULTS, fault
from tests.helpers.forked_backend import ForkedBackend

JOB = """\
method: sft
model: builtin:tiny-chat
dataset: {path: rows.jsonl, map: "faults.py:rewrite", eval_fraction: 0.25}
samples: {prompts: 0}
train: {max_steps: 9, save_steps: 3, eval_steps: 3, per_device_train_batch_size: 4, max_length: 64, load_best_model_at_end: true, learning_rate: 0.5}
"""
ROWS = [{"messages": [{"role": role, "content": f"row {n}"} for role in ("user", "assistant")]} for n in range(32)]

pytestmark = [pytest.mark.train, pytest.mark.long]


def test_a_run_continues_from_the_checkpoint_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another rate is refused before anything starts. The best model is one of the run itself, even if the other run had a better one.

    This rate is so high that evaluations get worse from the first one on.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("holdfast.app.run.runs.open_backend", ForkedBackend.open)
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "faults.py").write_text(FAULTS.read_text())
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    killed = run("job.yaml", set=[fault("kill@7")], rehearse=False, offline=True)
    (checkpoint,) = Path(killed.folder).glob("checkpoints/*/checkpoint-6")
    state = json.loads((checkpoint / "trainer_state.json").read_text())
    assert state["best_model_checkpoint"].endswith("checkpoint-3")

    sets = [fault("nothing"), "train.learning_rate=0.25"]
    refused = run("job.yaml", set=sets, rehearse=False, offline=True, resume_from=checkpoint)
    (attempt,) = refused.attempts
    assert attempt.resumed is not None
    assert attempt.resumed.verdict == "refused"
    assert [each.name for each in Path(refused.folder, "attempts", "1").iterdir()] == ["attempt.py"]
    accepted = resume(refused.run, accept_changes=True)
    assert accepted.stage == "succeeded", accepted.because
    assert accepted.attempts[1].resumed is not None
    assert accepted.attempts[1].resumed.verdict == "accepted"

    resumed = run("job.yaml", set=[fault("nothing")], rehearse=False, offline=True, resume_from=checkpoint)

    assert resumed.stage == "succeeded", resumed.because
    best = resumed.attempts[0].best
    assert best is not None
    assert Path(best.path).name == "checkpoint-9"
    assert Path(best.path).is_relative_to(resumed.folder)
