"""Real trainings that fail for a cause that a remedy helps against, and end with the model of one that did not fail."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from holdfast.adapters.payload import load_runtime
from holdfast.app.run.verb import run
from holdfast.results.run import RunResult
from tests.helpers.forked_backend import ForkedBackend

FAULTS = Path(__file__).parents[2] / "helpers" / "training_faults.py"
"""Imported by the training alone: it imports the trainers."""
JOB = """\
method: sft
model: builtin:tiny-chat
dataset: {path: rows.jsonl, map: "faults.py:rewrite", eval_fraction: 0.25}
samples: {prompts: 0}
train:
  num_train_epochs: 2
  save_steps: 3
  eval_steps: 3
  logging_steps: 1
  per_device_train_batch_size: 4
  per_device_eval_batch_size: 4
  max_length: 64
recover: {allow: [batch_size, skip_batches]}
"""
ROWS = [
    {"messages": [{"role": role, "content": f"{n} plus {n} is " + "so " * (n % 7)} for role in ("user", "assistant")]}
    for n in range(35)
]
ROUNDING = 1e-6
"""What weights may differ by whose gradients were added up in another order; those of the model are up to 1."""
Training = Callable[..., RunResult]

pytestmark = pytest.mark.train


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Training:
    """Run the job in a new folder, with a fault in it; without one it is run once."""
    known: dict[tuple[str, ...], RunResult] = {}

    def train(*sets: str) -> RunResult:
        if sets not in known:
            folder = tmp_path_factory.mktemp("run")
            (folder / "job.yaml").write_text(JOB)
            (folder / "faults.py").write_text(FAULTS.read_text())
            (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(folder)
                patch.setattr("holdfast.app.run.runs.open_backend", ForkedBackend.open)
                known[sets] = run("job.yaml", set=sets, rehearse=False, offline=True)
        return known[sets]

    return train


def difference(one: RunResult, other: RunResult) -> float:
    """Return the largest difference of two models' weights."""
    first, second = (load_file(f"{each.output}/model.safetensors") for each in (one, other))
    assert first.keys() == second.keys()
    return max(float(abs(first[name] - second[name]).max()) for name in first)


def fault(name: str) -> str:
    """Return the override that puts a fault into the job."""
    return f"environment.variables.FAULT={name}"


def changes(result: RunResult) -> dict[str, Any]:
    """Return what was changed after the first attempt."""
    return {each.key.removeprefix("train."): each.after for each in result.attempts[0].remedy or ()}


@pytest.mark.long
def test_memory_that_ran_out_in_training_costs_rounding_alone(training: Training) -> None:
    """Half the batch, twice the accumulation: the same rows in each of as many steps, from a checkpoint amid an epoch."""
    disturbed, straight = training(fault("oom-train@8")), training()

    assert (disturbed.stage, len(disturbed.attempts)) == ("succeeded", 2), disturbed.because
    assert changes(disturbed) == {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 2}
    assert disturbed.attempts[1].resume_from is not None
    assert disturbed.attempts[1].max_steps == straight.attempts[0].max_steps
    assert difference(disturbed, straight) < ROUNDING


def test_memory_that_ran_out_in_an_evaluation_costs_nothing(training: Training) -> None:
    """Training is as it was, bit for bit."""
    disturbed, straight = training(fault("oom-eval@6")), training()

    assert (disturbed.stage, len(disturbed.attempts)) == ("succeeded", 2), disturbed.because
    assert changes(disturbed) == {"per_device_eval_batch_size": 2}
    assert difference(disturbed, straight) == 0


@pytest.mark.long
def test_a_training_that_hangs_is_ended_and_goes_on(training: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own rhythm, here with shorter times: its stacks show where it hung, and the weights are those of one that did not, bit for bit."""
    beating = load_runtime().replace("\nHEARTBEAT_S = ", "\nHEARTBEAT_S = 0.3  # ")
    monkeypatch.setattr("holdfast.app.run.attempting.load_runtime", lambda: beating)
    monkeypatch.setattr("holdfast.core.run.rhythm.LEAST_S", 2.0)
    monkeypatch.setattr("holdfast.core.run.rhythm.LEAST_STALL_S", 2.0)
    monkeypatch.setattr("holdfast.engine.run.supervise.STALL_GRACE_S", 0.5)
    monkeypatch.setattr("holdfast.engine.recover.policy.FIRST_PAUSE_S", 0.1)

    disturbed, straight = training(fault("hang@8")), training()

    assert (disturbed.stage, len(disturbed.attempts)) == ("succeeded", 2), disturbed.because
    stalled = disturbed.attempts[0]
    assert stalled.diagnosis is not None
    assert stalled.diagnosis.name == "training-stalled"
    assert "`strike` (faults.py:" in stalled.diagnosis.where
    assert "training_step" in Path(disturbed.folder, "attempts", "1", "stacks.txt").read_text()
    assert [each.kind for each in stalled.troubles] == ["no-progress"]
    assert difference(disturbed, straight) == 0


@pytest.mark.long
def test_a_batch_without_finite_gradients_is_left_out(training: Training) -> None:
    """The weights are those of a training that never had it, bit for bit."""
    disturbed, straight = training(fault("nan@6")), training("environment.variables.HOLDFAST_SKIP=7-7")

    assert (disturbed.stage, len(disturbed.attempts)) == ("succeeded", 2), disturbed.because
    assert disturbed.attempts[0].recovery is not None
    assert disturbed.attempts[0].recovery.skips == (7, 7)
    assert difference(disturbed, straight) == 0
