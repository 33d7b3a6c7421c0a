"""A run whose folder is lost with its machine goes on elsewhere, from the checkpoint that it pushed last."""

import json
import shutil
from pathlib import Path

import pytest

from tests.app.run.test_remedied_trainings import FAULTS
from tests.helpers.hub.server import loopback_hub
from tests.helpers.run_place import Place, quiet_runs, weights

JOB = """\
method: sft
model: builtin:tiny-chat
dataset: {path: rows.jsonl, map: "faults.py:rewrite"}
samples: {prompts: 0}
environment: {variables: {FAULT: kill@7}}
output: {push_to: me/tiny}
train: {max_steps: 9, save_steps: 3, per_device_train_batch_size: 4, max_length: 64, hub_strategy: checkpoint, hub_always_push: true}
"""
ROWS = [{"messages": [{"role": role, "content": f"row {n}"} for role in ("user", "assistant")]} for n in range(32)]
UNDISTURBED = ("--set", "environment.variables.FAULT=none")

pytestmark = [pytest.mark.train, pytest.mark.long]


def test_a_pushed_checkpoint_continues_a_lost_run_bit_for_bit(tmp_path: Path) -> None:
    """It is whole, with its manifest; another rate than its own is refused first."""
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "faults.py").write_text(FAULTS.read_text())
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    with loopback_hub() as hub:
        at = Place(tmp_path, quiet_runs(tmp_path / "cache") | hub.variables)
        code, killed, err = at.type("run", "job.yaml")
        assert (code, killed["attempts"][0]["exit_code"]) == (1, -9), (killed["because"], err)
        assert "last-checkpoint/holdfast-manifest.json" in hub.repositories["model", "me/tiny"].files
        shutil.rmtree(tmp_path / "runs")

        words = ("run", "job.yaml", *UNDISTURBED, "--resume-from", "hf://me/tiny")
        code, refused, err = at.type(*words, "--set", "train.learning_rate=0.5")
        assert (code, refused["attempts"][0]["resumed"]["verdict"]) == (1, "refused"), err
        code, resumed, err = at.type(*words)
        assert (code, resumed["attempts"][0]["resumed"]["verdict"]) == (0, "same"), err
        assert resumed["attempts"][0]["resume_from"].startswith(f"{resumed['folder']}/resumed/checkpoint-")
        code, straight, err = at.type("run", "job.yaml", *UNDISTURBED, "--set", "output.push_to=me/straight")
        assert code == 0, err

    assert weights(resumed) == weights(straight)
