"""The settings of a scenario are those that the trainer trains with, and the run remembers why."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from holdfast.adapters.storage.ledger import Ledger
from holdfast.app.run.verb import run
from holdfast.app.show.verb import show
from holdfast.core.job.scenario import SCENARIOS
from holdfast.core.run.event import training_events
from holdfast.core.run.training_event import CheckpointSaved, TrainingStarted
from tests.helpers.forked_backend import ForkedBackend

JOB = """\
method: sft
model: builtin:tiny-chat
dataset: {path: rows.jsonl, eval_fraction: 0.25}
samples: {prompts: 0}
train: {max_steps: 4, per_device_train_batch_size: 2, max_length: 64, learning_rate: 1.0e-3}
"""
ROWS = [
    {"messages": [{"role": role, "content": f"{number} plus 1" * (number % 5)} for role in ("user", "assistant")]}
    for number in range(24)
]
AS_TRAINED: Final = {"train.activation_checkpointing": "gradient_checkpointing"}
"""Keys that the trainer keeps under another name."""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a job."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOLDFAST_RUNS", raising=False)
    monkeypatch.setattr("holdfast.app.run.runs.open_backend", ForkedBackend.open)
    Path("job.yaml").write_text(JOB)
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    return tmp_path


@pytest.mark.train
@pytest.mark.long
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_trainer_has_the_settings_of_the_scenario(name: str, place: Path) -> None:
    """All but those that the user wrote: the steps, the rate, the share of rows held out, the samples."""
    result = run("job.yaml", set={"for": name, "where.timeout": "4h"}, rehearse=False, offline=True)

    assert result.stage == "succeeded", result.because
    scenario = show(result.run).asked.scenario
    assert scenario
    chosen = {each.key: each.value for each in scenario.chosen}
    config, saved = _events(place / "runs", result.run)
    trained = {
        key: config[AS_TRAINED.get(key, key.removeprefix("train."))] for key in chosen if key.startswith("train.")
    }
    assert trained == {key: chosen[key] for key in trained} != {}
    assert (config["max_steps"], config["learning_rate"]) == (4, 1e-3)
    assert saved[-1] == 4
    assert f"for: {name}" in (Path(result.folder) / "job.resolved.yaml").read_text()
    report = (Path(result.folder) / "report.html").read_text()
    assert f"{name} (prefers" in report


def _events(runs: Path, name: str) -> tuple[dict[str, Any], list[int | None]]:
    events = [event for _, event in Ledger(runs).read(name)]
    started = next(training_events(events, TrainingStarted))
    return dict(started.config), [each.step for each in training_events(events, CheckpointSaved)]
