"""Job files of other programs come under the keys of ours, each value with its place."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.readers.foreign import find_reader
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.targets import read_target
from holdfast.core.document import Document, Rename
from holdfast.core.text import Place, apply_text_edits

RECIPE = """\
# Model
model_name_or_path: Qwen/Qwen3-0.6B
eval_strategy: no
save_strategy: 'no'
learning_rate: 2.0e-05
my_own_key: 1
"""
AXOLOTL = """\
base_model: NousResearch/Llama-3.2-1B
datasets:
  - path: teknium/GPT4-LLM-Cleaned
    type: alpaca
adapter: lora
lora_r: 16
micro_batch_size: 2
num_epochs: 1
bf16: auto
"""
LLAMA_FACTORY = """\
model_name_or_path: Qwen/Qwen3-4B-Instruct-2507
stage: sft
finetuning_type: lora
lora_rank: 8
overwrite_output_dir: true
warmup_ratio: 0.1
"""


def read(text: str, path: str) -> Document:
    document = JobFileReader().read(text, path)
    reader = find_reader(document.values)
    assert reader
    return reader(document)


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        (
            "recipes/sft.yaml",
            RECIPE,
            {"method": "sft", "model.path": "Qwen/Qwen3-0.6B", "train.eval_strategy": False, "train.save_strategy": "no"},
        ),
        ("run.yaml", AXOLOTL, {"method": "sft", "train.per_device_train_batch_size": 2, "peft.r": 16, "dataset.path": "teknium/GPT4-LLM-Cleaned"}),
        ("run.yaml", LLAMA_FACTORY, {"method": "sft", "peft.r": 8, "train.warmup_ratio": 0.1}),
    ],
)  # fmt: skip
def test_settings_come_under_our_keys(path: str, text: str, said: dict[str, Any]) -> None:
    """A rule that reads `train.per_device_train_batch_size` finds it whatever the other program calls it."""
    document = read(text, path)
    assert {key: document.get(key) for key in said} == said


def test_a_setting_keeps_its_place() -> None:
    """A finding about it points into the other program's file."""
    document = read(AXOLOTL, "run.yaml")
    assert document.place("train.per_device_train_batch_size") == Place("run.yaml", 7, 1, 7, 17)


@pytest.mark.parametrize(
    ("path", "text", "method"),
    [
        ("dpo/config.yaml", "", "dpo"),
        ("config_grpo.yaml", "", "grpo"),
        ("config.yaml", "output_dir: out/Qwen3-SFT\n", "sft"),
        ("config.yaml", "", None),
        ("sft_then_dpo.yaml", "", None),
        ("transfers/config.yaml", "", None),
    ],
)
def test_a_recipe_is_for_the_command_that_its_name_says(path: str, text: str, method: str | None) -> None:
    """Where nothing names one, or several things do, it is for any command of TRL."""
    document = read(f"model_name_or_path: x\n{text}", path)

    assert document.get("method", None) == method
    assert [call.path for call in document.calls] == [f"trl {method or 'any'}"]


@pytest.mark.parametrize(
    "text",
    [
        "method: sft\nmodel: x\ndataset: y\n",
        "compute_environment: LOCAL_MACHINE\n",
        "zero_optimization: {stage: 3}\n",
        "a: 1\n",
    ],
)
def test_other_files_are_not_taken_for_one(text: str) -> None:
    """Our own job files, and settings of accelerate and DeepSpeed, belong to nobody here."""
    assert find_reader(JobFileReader().read(text, "x.yaml").values) is None


def test_a_fix_is_written_where_the_setting_stands(tmp_path: Path) -> None:
    """An edit by our key changes the other program's own line."""
    path = tmp_path / "sft.yaml"
    path.write_text(RECIPE, encoding="utf-8")
    target = read_target(str(path))
    edits = target.place_edits(target.document, [Rename("train.learning_rate", "lr")])

    assert apply_text_edits(RECIPE, edits) == RECIPE.replace("learning_rate", "lr")
