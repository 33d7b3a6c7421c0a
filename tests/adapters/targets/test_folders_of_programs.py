"""What lies in the folders that a program names on this machine is what `check` says of it: checkpoints, and a tokenizer's words."""

import json
from pathlib import Path

import pytest

import holdfast
from tests.helpers.hub.weights import weights

SCRIPT = """# /// script
# dependencies = ["trl==1.16.0", "transformers==5.23.0"]
# ///
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", save_steps=100, eos_token="<|im_end|>")
trainer = SFTTrainer("./base", args=args, train_dataset=rows)
trainer.train(resume_from_checkpoint=True)
"""


def codes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    (folder / "train.py").write_text(SCRIPT)
    monkeypatch.chdir(folder)
    found = holdfast.check("train.py", offline=True, cache=False)
    return {finding["code"] for finding in found["targets"][0]["findings"]}


def test_a_folder_without_checkpoints_has_nothing_to_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither where it is not there, nor where it is empty; one checkpoint is enough."""
    assert "RSM107" in codes(tmp_path, monkeypatch)
    (tmp_path / "out").mkdir()
    assert "RSM107" in codes(tmp_path, monkeypatch)
    (tmp_path / "out" / "checkpoint-100").mkdir()
    (tmp_path / "out" / "checkpoint-100" / "trainer_state.json").write_text("{}")
    assert "RSM107" not in codes(tmp_path, monkeypatch)


def test_a_token_that_the_tokenizer_lacks_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where its file has the token, nor where there is no such file to read."""
    base = tmp_path / "base"
    base.mkdir()
    (base / "config.json").write_text(json.dumps({"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}))
    assert "MOD137" not in codes(tmp_path, monkeypatch)
    (base / "tokenizer.json").write_text(json.dumps({"added_tokens": [{"id": 0, "content": "<|im_end|>"}]}))
    assert "MOD137" not in codes(tmp_path, monkeypatch)
    (base / "tokenizer.json").write_text(json.dumps({"added_tokens": [{"id": 0, "content": "</s>"}]}))
    assert "MOD137" in codes(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("trl dpo --dataset_name ./data", "DAT101"),
        ("trl sft --dataset_name ./data", ""),
        ("trl sft --dataset_name ./data --dataset_train_split tst", "DAT123"),
        ("trl sft --dataset_name ./none", "DAT123"),
        ("trl sft --dataset_name ./data/rows.jsonl", "DAT122"),
    ],
)
def test_the_folder_that_a_command_trains_on_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, code: str
) -> None:
    """Its columns, its splits, and whether it is there."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.jsonl").write_text('{"text": "1 plus 1 is 2"}\n' * 4)
    monkeypatch.chdir(tmp_path)
    line = f"{words} --model_name_or_path acme/base --output_dir out"
    found = holdfast.check(arguments=line.split(), offline=True)
    assert {each["code"] for each in found["targets"][0]["findings"]} == {code} - {""}


TEMPLATED = """# /// script
# dependencies = ["trl==1.16.0", "transformers==5.23.0"]
# ///
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", chat_template_path="{path}")
trainer = SFTTrainer("acme/base", args=args, train_dataset=rows)
"""


def test_a_chat_template_that_is_not_there_is_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a file where its name is a template's, else as a folder; one that is there is not."""
    (tmp_path / "here.jinja").write_text("{{ messages }}")
    monkeypatch.chdir(tmp_path)
    found: dict[str, list[str]] = {}
    for path in ("here.jinja", "gone.jinja", "./gone"):
        (tmp_path / "train.py").write_text(TEMPLATED.format(path=path))
        told = holdfast.check("train.py", offline=True, cache=False)["targets"][0]["findings"]
        found[path] = [each["message"] for each in told if each["code"] == "MOD108"]

    assert found["here.jinja"] == []
    assert found["gone.jinja"] == ["there is no file `gone.jinja`"]
    assert found["./gone"] == ["there is no folder `./gone`"]


SHAPES = {"model.layers.0.self_attn.q_proj.weight": [4, 4]}
JOB = "method: sft\nmodel: {model}\ndataset: {data}\npeft: {{r: 8, target_modules: [q_prj]}}\n"


@pytest.mark.parametrize("start", [".", ".."])
@pytest.mark.parametrize("model", ["builtin:tiny-chat", "base", "./base"])
@pytest.mark.parametrize("data", ["rows", "./rows", "builtin:stdlib-docstrings"])
def test_a_job_with_all_it_needs_beside_it_is_checked_whole_in_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str, model: str, data: str
) -> None:
    """Nothing is skipped, wherever holdfast is started, and the data's files are counted."""
    project = tmp_path / "project"
    (project / "rows").mkdir(parents=True)
    for part in ("train-0.jsonl", "train-1.jsonl"):
        (project / "rows" / part).write_text('{"text": "One and one is two."}\n' * 40)
    base = project / "base"
    base.mkdir()
    (base / "config.json").write_text(json.dumps({"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}))
    (base / "model.safetensors").write_bytes(weights(dtype="F32", **SHAPES))
    (base / "tokenizer.json").write_text("{}")
    job = JOB.format(model=model, data=data if data.startswith("builtin") else f"{{path: {data}, eval_fraction: 0.5}}")
    (project / "job.yaml").write_text(job)
    monkeypatch.chdir(project / start)
    (answer,) = holdfast.check("." if start == "." else "project", cache=False)["targets"]
    assert "MOD123" in {finding["code"] for finding in answer["findings"]}
    assert answer["skipped"] == []


RESUMED = """# /// script
# dependencies = ["trl==1.16.0", "transformers==5.23.0"]
# ///
from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=SFTConfig(output_dir="out"), train_dataset=rows)
trainer.train(resume_from_checkpoint="runs/first")
"""


def test_the_folder_around_checkpoints_is_no_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names one of them; a folder that is a checkpoint itself, or is not here, is not reported."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(RESUMED)

    def messages() -> list[str]:
        (answer,) = holdfast.check("train.py", offline=True, cache=False, select="RSM108")["targets"]
        return [finding["message"] for finding in answer["findings"]]

    assert messages() == []
    for step in (9, 100):
        Path("runs", "first", f"checkpoint-{step}").mkdir(parents=True)
        Path("runs", "first", f"checkpoint-{step}", "model.safetensors").write_text("")
    assert messages() == [
        "`runs/first` is not a checkpoint, but the folder that holds checkpoints: write `runs/first/checkpoint-100`"
    ]
    Path("runs", "first", "model.safetensors").write_text("")
    assert messages() == []
