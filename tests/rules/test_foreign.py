"""Job files of other programs come under the keys of ours, each value with its place."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.readers.foreign import find_reader
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.targets import read_target
from holdfast.adapters.targets.folders import find_files
from holdfast.app.check.programs import check
from holdfast.app.hub_access import HubAccess, open_outside
from holdfast.core.check.finding import Severity
from holdfast.core.errors import UsageError
from holdfast.core.job.document import Document, Rename, Unknown
from holdfast.core.text.places import Place, apply_text_edits
from holdfast.engine.check.rule_runner import severity_of
from holdfast.rules import all_rules

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
    """Where nothing names one, or several things do, no command is taken for its own."""
    document = read(f"model_name_or_path: x\n{text}", path)

    told = document.get("method")
    assert told == method if method else isinstance(told, Unknown)
    assert [call.path for call in document.calls] == [f"trl {method or 'any'}"]


def test_a_recipe_for_no_command_is_for_the_arguments_of_any_trainer() -> None:
    """What only TRL ever had may be the script's own then, and is left out."""
    for name in ("per_device_train_batch_size", "num_train_epochs", "gradient_accumulation_steps", "eval_strategy"):
        (call,) = read(f"model_name_or_path: x\n{name}: 1\nmax_seq_length: 8\n", "config.yaml").calls
        assert (call.path, list(call.arguments)) == ("transformers.TrainingArguments", [name])


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


def findings(path: Path) -> dict[str, str]:
    """Return what the rules object to in a file, by the key that they name."""
    asked = read_target(str(path))
    checked = check(asked, tuple(all_rules()), "catalog", open_outside(asked.document, HubAccess.OFFLINE))
    errors = (finding for finding in checked.findings if severity_of(finding) is Severity.ERROR)
    return {finding.key: finding.rule.code if finding.rule else "" for finding in errors}


def written(folder: Path, name: str, text: str) -> Path:
    (folder / "requirements.txt").write_text("trl==1.16.0\ntransformers==5.23.0\n", encoding="utf-8")
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_a_scripts_own_settings_are_not_taken_for_the_librarys(tmp_path: Path) -> None:
    """Names that no argument ever had, and those of a trainer's, may be fields that the script adds."""
    path = written(
        tmp_path, "sft.yaml", RECIPE.replace("eval_strategy: no\n", "") + "callbacks: [x]\ntorch_dtype: auto\n"
    )
    assert findings(path) == {"train.torch_dtype": "ARG101"}


def test_no_in_yaml_is_no_word(tmp_path: Path) -> None:
    """PyYAML takes it for false, which no strategy is; in quotes it is one."""
    assert findings(written(tmp_path, "sft.yaml", RECIPE)) == {"train.eval_strategy": "ARG110"}


def test_llama_factory_brings_its_own_versions(tmp_path: Path) -> None:
    """Its own settings are none of transformers', and what its transformers still takes is right."""
    assert findings(written(tmp_path, "run.yaml", LLAMA_FACTORY + "cutoff_len: 8\ntemplate: qwen\n")) == {}


def test_more_of_yaml_than_is_read_is_a_skip_with_its_reason(tmp_path: Path) -> None:
    """Another program's file may have anchors and tags: nothing is known of it then, and nothing is wrong with it."""
    path = written(tmp_path, "run.yaml", AXOLOTL.replace("NousResearch", "&a !!str NousResearch"))
    asked = read_target(str(path))
    checked = check(asked, tuple(all_rules()), "catalog", open_outside(asked.document, HubAccess.OFFLINE))

    assert not checked.findings
    assert any("anchors, aliases or tags" in skip.because for skip in checked.skips)


@pytest.mark.parametrize("text", ["services: {a: 1}\nvolumes: {b: 2}\n", "model: a\nmodel_class: llm\ncutoff_len: 8\n"])
def test_another_programs_file_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    """Named by mistake, it is not measured against the schema of a job, key by key."""
    with pytest.raises(UsageError, match="neither a job nor a file of a known program"):
        read_target(str(written(tmp_path, "x.yaml", text)))


def test_a_folders_recipes_are_found_and_other_yaml_is_not(tmp_path: Path) -> None:
    """Whose a file is, the keys at its top say."""
    texts = {
        "recipe.yaml": RECIPE.replace("my_own_key", "dataset_name"),
        "axolotl.yml": AXOLOTL,
        "factory.yaml": LLAMA_FACTORY + "output_dir: o\n",
        "accelerate.yaml": "distributed_type: NO\nnum_processes: 2\n",
        "docker-compose.yml": "services:\n  model:\n    image: x\n",
        "ci.yml": "on: push\njobs:\n  train:\n    steps: []\n",
        "mkdocs.yml": "site_name: x\nnav: []\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = find_files(str(tmp_path)).files

    assert {Path(path).name for path in found} == {"recipe.yaml", "axolotl.yml", "factory.yaml"}


NAMES = st.sampled_from(["base_model", "datasets", "stage", "model_name_or_path", "per_device_train_batch_size", "eval_strategy", "a.b", "0", "", "é"])  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(NAMES, VALUES, max_size=6))
def test_any_settings_are_read(values: dict[str, Any]) -> None:
    """Whatever another program's file holds, JSON being YAML, it is read without an error."""
    text = json.dumps(values, ensure_ascii=False)
    document = None
    with suppress(ExceptionGroup):  # not all that JSON may hold is YAML
        document = JobFileReader().read(text, "x.yaml")
    reader = find_reader(document.values) if document else None
    if document and reader:
        assert reader(document).kind == "command"
