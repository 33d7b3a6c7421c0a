"""The quickstart of `examples/vision`: it is rehearsed, trained, and better than its base."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast

pytestmark = [pytest.mark.train, pytest.mark.long, pytest.mark.timeout(900)]
EXAMPLE = Path(__file__).parents[3] / "examples/vision"


REWARDS = """\
def shared_words(completions, answer, **kwargs):
    return [float(len({*given[-1]["content"].split()} & {*right[-1]["content"].split()})) for given, right in zip(completions, answer)]
"""
GRPO = """\
method: grpo
model: ./tiny-vlm
dataset: answers.jsonl
rewards: ["rewards.py:shared_words"]
environment: {requirements: [pillow]}
train: {max_steps: 2, per_device_train_batch_size: 4, num_generations: 2, max_completion_length: 8, logging_steps: 1}
"""


def made(folder: Path) -> Path:
    """Return an empty folder with the example, its pictures and its model."""
    here = folder / "vision"
    here.mkdir()
    for name in ("make.py", "vision.yaml"):
        shutil.copy(EXAMPLE / name, here)
    subprocess.run([sys.executable, here / "make.py"], check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    return here


def test_a_model_that_sees_learns_from_rewards(tmp_path: Path) -> None:
    """GRPO with a picture in each prompt: rehearsed on a twin that sees, and trained."""
    here = made(tmp_path)
    rows = [json.loads(line) for line in (here / "train.jsonl").read_text().splitlines()[:16]]
    answers = [{"image": row["image"], "prompt": row["prompt"], "answer": row["completion"]} for row in rows]
    (here / "answers.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in answers))
    (here / "rewards.py").write_text(REWARDS)
    (here / "grpo.yaml").write_text(GRPO)

    answer = holdfast.run(here / "grpo.yaml", runs=tmp_path / "runs", offline=True)

    assert answer["stage"] == "succeeded"
    assert "reward" in answer["metrics"]
    (folder,) = (tmp_path / "runs").glob("grpo-*")
    assert json.loads((folder / "rehearsal.json").read_text())["verdict"] == "pass"


def test_a_model_that_sees_is_rehearsed_trained_and_evaluated(tmp_path: Path) -> None:
    """From an empty folder: pictures and model are made, and the model names more test pictures than its base."""
    here = made(tmp_path)

    answer = holdfast.run(here / "vision.yaml", runs=tmp_path / "runs", offline=True)

    assert answer["stage"] == "succeeded"
    (folder,) = (tmp_path / "runs").glob("vision-*")
    assert json.loads((folder / "rehearsal.json").read_text())["verdict"] == "pass"
    (figures,) = [json.loads(each.read_text()) for each in (folder / "results").glob("evaluation-*.json")]
    (figure,) = figures["results"]
    assert figure["base"]["verdict"] == "better"
