"""A real training whose loss spikes because of poisoned batches, and that ends with the model of one that never had them."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from holdfast.app.run.verb import run
from holdfast.results.run import RunResult
from tests.app.run.test_remedied_trainings import FAULTS, difference, fault
from tests.helpers.forked_backend import ForkedBackend

pytestmark = [pytest.mark.train, pytest.mark.long, pytest.mark.timeout(1200)]
Training = Callable[..., RunResult]
JOB = """\
method: sft
model: builtin:tiny-chat
dataset: {path: rows.jsonl, map: "faults.py:rewrite"}
samples: {prompts: 0}
train:
  max_steps: 80
  save_steps: 4
  save_total_limit: 2
  logging_steps: 1
  learning_rate: 2.0e-3
  per_device_train_batch_size: 4
  max_length: 64
"""
ROWS = [
    {"messages": [{"role": role, "content": f"{n} plus {n} is " + "so " * (n % 7)} for role in ("user", "assistant")]}
    for n in range(40)
]
POISONED = "poison@44"
POISONED_STEPS = 12
"""As many as `POISONED` of `tests/helpers/training_faults.py`."""
PERMITTED = "recover.allow=[loss_spike]"


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Training:
    """Fine-tune, on the same rows, the model of a first training; each job once."""
    known: dict[Sequence[str], RunResult] = {}
    (place := tmp_path_factory.mktemp("runs")).joinpath("job.yaml").write_text(JOB)
    (place / "faults.py").write_text(FAULTS.read_text())
    (place / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))

    def train(*sets: str) -> RunResult:
        if sets not in known:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(place)
                patch.setattr("holdfast.app.run.runs.open_backend", ForkedBackend.open)
                known[sets] = run("job.yaml", set=sets, rehearse=False, offline=True)
        return known[sets]

    return lambda *sets: train(f"model={train().output}", *sets)


def losses(result: RunResult, attempt: int = 1) -> list[float]:
    events = Path(result.folder, "attempts", str(attempt), "events.jsonl").read_text().splitlines()
    steps = [json.loads(line) for line in events if '"event": "step"' in line]
    return [each["loss"] for each in steps]


def test_a_training_comes_back_from_poisoned_batches(training: Training) -> None:
    """It continues from a checkpoint of before, though newer ones were saved meanwhile, and no poisoned batch is trained on again."""
    spiked = training(fault(POISONED), PERMITTED)

    assert (spiked.stage, len(spiked.attempts)) == ("succeeded", 2), spiked.because
    first, second = spiked.attempts
    assert first.diagnosis is not None
    assert (first.diagnosis.name, first.diagnosis.confidence > 0.8) == ("loss-spike", True)
    assert first.recovery is not None
    assert first.recovery.skips is not None
    begin, end = first.recovery.skips
    assert begin == 45
    assert end >= 45 + POISONED_STEPS - 1
    assert Path(second.resume_from or "").name == "checkpoint-44"
    assert max(losses(spiked)[44:56]) > 5
    assert max(losses(spiked, attempt=2)) < 1
    straight = training(f"environment.variables.HOLDFAST_SKIP={begin}-{end}")
    assert difference(spiked, straight) == 0
