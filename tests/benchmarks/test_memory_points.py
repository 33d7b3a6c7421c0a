"""Points of `benchmarks/memory_gpu.py`, trained for real on the processor with tiny models, and the models' true sizes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.memory.grid import BASE
from benchmarks.memory.models import load_models
from benchmarks.memory.points import Point
from benchmarks.memory.table import load_table

pytestmark = pytest.mark.long
REPOSITORY = Path(__file__).parents[2]

SIZES = """
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from benchmarks.memory.models import load_models

for model in load_models().values():
    config = dict(model.config)
    with torch.device("meta"):
        made = AutoModelForCausalLM.from_config(AutoConfig.for_model(config.pop("model_type"), **config))
    print(model.name, sum(parameter.numel() for parameter in made.parameters()))
"""


def run(*words: str) -> str:
    """Run Python in the repository and return what it printed."""
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, *words], cwd=REPOSITORY, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_configurations_make_models_of_the_size_that_was_released() -> None:
    told = dict(line.split() for line in run("-c", SIZES).splitlines())
    assert {name: int(count) for name, count in told.items()} == {
        name: model.parameters for name, model in load_models().items()
    }


def test_a_dry_run_trains_its_points_and_measures_nothing_of_memory(tmp_path: Path) -> None:
    printed = run("-m", "benchmarks.memory_gpu", str(tmp_path / "dry.csv"), "--dry", "--limit", "2", "--seconds", "250")
    assert printed.splitlines()[-1] == "2 left of these; 2 rows in the table"
    rows = load_table(tmp_path / "dry.csv")
    assert next(Point.of(row) for row in rows) == BASE
    assert {row["outcome"] for row in rows} == {"dry"}
    assert all(row["step_4_s"] and row["trainable"] and not row["peak_allocated_bytes"] for row in rows)
