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


def test_a_model_that_sees_is_rehearsed_trained_and_evaluated(tmp_path: Path) -> None:
    """From an empty folder: pictures and model are made, and the model names more test pictures than its base."""
    here = tmp_path / "vision"
    here.mkdir()
    for name in ("make.py", "vision.yaml"):
        shutil.copy(EXAMPLE / name, here)
    subprocess.run([sys.executable, here / "make.py"], check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})

    answer = holdfast.run(here / "vision.yaml", runs=tmp_path / "runs", offline=True)

    assert answer["stage"] == "succeeded"
    (folder,) = (tmp_path / "runs").glob("vision-*")
    assert json.loads((folder / "rehearsal.json").read_text())["verdict"] == "pass"
    (figures,) = [json.loads(each.read_text()) for each in (folder / "results").glob("evaluation-*.json")]
    (figure,) = figures["results"]
    assert figure["base"]["verdict"] == "better"
