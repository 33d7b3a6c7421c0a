"""SFT with LoRA, merged, quantized, and evaluated: what a run is for, from its job file to a file that loads and writes."""

import json
from pathlib import Path

import pytest

import holdfast
from tests.helpers.forked_backend import ForkedBackend
from tests.helpers.gguf_tools import kept_converter

JOB = """\
method: sft
model: builtin:tiny-chat
dataset: rows.jsonl
peft: {r: 8, target_modules: all-linear}
samples: {prompts: 0}
train: {max_steps: 12, per_device_train_batch_size: 4, max_length: 64, learning_rate: 1.0e-2}
output: {gguf: [q8_0, q4_k_m]}
"""
ROW = {
    "messages": [{"role": "user", "content": "What is 1 plus 1?"}, {"role": "assistant", "content": "1 plus 1 is 2."}]
}


@pytest.mark.train
@pytest.mark.long
def test_a_trained_adapter_becomes_files_that_load_and_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is better than the model that the training started from, in the runtime that it is made for."""
    kept_converter()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOLDFAST_RUNS", raising=False)
    monkeypatch.setattr("holdfast.app.run.runs.open_backend", ForkedBackend.open)
    Path("job.yaml").write_text(JOB)
    Path("rows.jsonl").write_text(48 * f"{json.dumps(ROW)}\n")

    answer = holdfast.run("job.yaml", rehearse=False)

    assert answer["export"]["verdict"] == "pass", answer["export"]["because"]
    files = [Path(each) for each in answer["export"]["files"]]
    assert [each.name.rpartition("-")[2] for each in files] == ["q8_0.gguf", "q4_k_m.gguf"]
    for file in files:
        told = holdfast.evaluate(file, on="rows.jsonl", prompt="What is 1 plus 1?", rows=8, max_new_tokens=8)
        (loss,) = [each for each in told["results"] if each["metric"] == "loss"]
        assert told["base"] == "builtin:tiny-chat"
        assert loss["value"] < loss["base"]["value"] - 1
        assert not told["failed"]
