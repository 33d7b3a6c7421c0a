"""What scripts do with models works on their twins as it would in reality, and fails as it would."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.architectures import ALL
from tests.helpers.children import Answer, ask_each
from tests.helpers.hub import loopback_hub
from tests.helpers.hub.weights import weights
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = pytest.mark.train

Ask = Callable[..., dict[str, Answer]]

WORKING = (
    "weights_are_drawn",
    "own_work_is_loaded",
    "generation_settings_are_real",
    "as_for_a_gpu",
    "in_eight_bits_already",
    "gpt_oss",
    "adapters",
    "of_its_own_making",
    "weights_of_its_own_reading",
    "heads_and_sizes",
    "by_name_in_a_trainer",
)
FAILING = {
    "without_weights": "OSError: Error no file named model.safetensors",
    "with_broken_weights": "SafetensorError",
    "of_no_known_type": "ValueError: The checkpoint you are trying to load has model type `qwen99`",
    "with_unknown_attention": 'ValueError: Specified `attn_implementation="flash_attention_9"` is not supported',
    "on_an_unknown_device": "ValueError: When passing device_map as a string",
    "with_an_unknown_argument": "TypeError: Qwen2ForCausalLM.__init__() got an unexpected keyword argument 'load_in_5bit'",
    "in_four_bits_without_bitsandbytes": "ImportError: Using `bitsandbytes` 4-bit quantization requires bitsandbytes",
    "an_adapter_without_weights": "HFValidationError: Repo id must be in the form",
    "of_an_adapter_that_fits_nothing": "NoMatchingPeftModuleError: Target modules {'c_attn'} not found in the base model",
}


def asker(folder: Path, tiny: Path) -> Ask:
    (folder / "tiny").symlink_to(tiny)

    def ask(*names: str, variables: dict[str, str] | None = None, **order: Any) -> dict[str, Answer]:
        cases = [{"name": name, "folder": str(folder), "order": order} for name in names]
        return ask_each("rehearsed_loading", cases, **(variables or {}))

    return ask


@pytest.fixture(scope="module", name="answers")
def all_answers(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return asker(tmp_path_factory.mktemp("twins"), tiny)(*WORKING, *FAILING)


@pytest.mark.parametrize("name", FAILING)
def test_what_is_wrong_is_refused_as_in_reality(name: str, answers: dict[str, Any]) -> None:
    assert answers[name]["refused"], "nothing was raised"
    assert answers[name]["refused"].startswith(FAILING[name])


@pytest.mark.parametrize("name", WORKING)
def test_what_is_right_works(name: str, answers: dict[str, Any]) -> None:
    assert answers[name]["refused"] is None


def test_weights_are_random_and_the_same_each_time(answers: dict[str, Any]) -> None:
    drawn = answers["weights_are_drawn"]
    assert drawn["again"]
    assert drawn["tied"]
    assert 0.015 < drawn["spread"] < 0.025
    assert drawn["dtypes"] == ["torch.bfloat16", "torch.float32"]
    assert not drawn["training"]


def test_the_original_is_told(answers: dict[str, Any]) -> None:
    fact = answers["weights_are_drawn"]["fact"]
    assert fact["parameters"] == 494_032_768  # that Qwen2.5-0.5B is published with
    assert fact["twin_parameters"] < 10_000_000
    assert fact["kind"] == "folder"
    assert fact["weights_bytes"] > 0
    assert fact["kwargs"]["dtype"] == "torch.float32"


def test_what_the_script_saved_is_loaded_with_its_weights(answers: dict[str, Any]) -> None:
    assert answers["own_work_is_loaded"] == {"refused": None, "norms": [7.0, 7.0], "strange": []}


def test_generation_settings_are_the_original_s(answers: dict[str, Any]) -> None:
    assert answers["generation_settings_are_real"] == {"refused": None, "temperature": 0.7, "ends": [5, 6]}


def test_what_wants_a_gpu_is_said_not_to_be_rehearsed(answers: dict[str, Any]) -> None:
    assert answers["as_for_a_gpu"]["device"] == "cpu"
    assert answers["as_for_a_gpu"]["attention"] == "sdpa"
    assert "attention by flash_attention_2" in answers["as_for_a_gpu"]["not"]


def test_a_quantized_model_without_an_adapter_is_refused(answers: dict[str, Any]) -> None:
    eight = answers["in_eight_bits_already"]
    assert eight["quantized"]
    assert eight["fact"] == "fp8"
    assert "purely quantized models" in eight["refused_training"]


def test_gpt_oss_trains_where_its_weights_are_asked_for_dense(answers: dict[str, Any]) -> None:
    assert answers["gpt_oss"] == {"refused": None, "quantized": False, "trains": True}


def test_adapters_go_on_in_all_ways_of_loading_them(answers: dict[str, Any]) -> None:
    adapters = answers["adapters"]
    assert adapters["active"] == ["default"]
    assert adapters["adapted"] == [True, True]
    assert adapters["loss"] > 0
    assert adapters["same"], "what was trained is what is loaded again"
    assert adapters["merged"] == "Qwen2ForCausalLM"
    assert adapters["fact"] == "folder"


def test_large_models_of_the_script_s_own_are_made_small_and_small_ones_left(answers: dict[str, Any]) -> None:
    made = answers["of_its_own_making"]
    large, small, auto, bare = made["sizes"]
    assert max(large, auto, bare) < 20_000_000
    assert made["layers"] == 3
    assert small > 0
    assert made["config"], "the script's own object is the model's"


def test_weights_that_the_script_reads_pass_unless_their_names_are_wrong(answers: dict[str, Any]) -> None:
    assert answers["weights_of_its_own_reading"]["wrong_names_are_refused"]


def test_heads_and_new_vocabularies_work(answers: dict[str, Any]) -> None:
    heads = answers["heads_and_sizes"]
    assert heads["score"] == 1
    assert heads["vocabulary"] == [151_940, 151_940]
    assert heads["pipeline"] == "Qwen2ForCausalLM"


def test_a_trainer_loads_by_name(answers: dict[str, Any]) -> None:
    assert answers["by_name_in_a_trainer"]["loss"] > 0
    assert answers["by_name_in_a_trainer"]["slope"] > 0


def test_where_a_script_counts_layers_all_are_there(tiny: Path, tmp_path: Path) -> None:
    told = asker(tmp_path, tiny)("layers_by_number", source="LoraConfig(layers_to_transform=[23])")["layers_by_number"]
    assert told["refused"] is None
    assert told["layers"] == 24
    assert told["adapted"] > 0


def test_a_known_model_takes_the_place_of_the_script_s(tiny: Path, tmp_path: Path) -> None:
    told = asker(tmp_path, tiny)("a_known_one", known_model=str(tiny))["a_known_one"]
    assert told["refused"] is None
    assert told["type"] == "qwen2"
    assert told["vocabulary"][0] == told["vocabulary"][1]


@pytest.mark.long
def test_no_weights_are_asked_of_the_hub(tiny: Path, tmp_path: Path) -> None:
    title, fields = ALL["qwen2.5-0.5b"]
    config = json.dumps({**fields, "model_type": "qwen2", "architectures": [title]})
    lora = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 8, "target_modules": ["q_proj"]}
    of = {"base_model_name_or_path": "acme/qwen"}
    file = weights(one=[64])
    with loopback_hub() as hub:
        hub.add_model("acme/qwen", {"config.json": config, "model.safetensors": file})
        hub.add_model("acme/bare", {"config.json": config})
        hub.add_model("acme/adapter", {"adapter_config.json": json.dumps(lora | of), "adapter_model.safetensors": file})
        variables = {**hub.variables, "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path / "home")}
        told = asker(tmp_path, tiny)("of_the_hub", variables=variables)["of_the_hub"]
        looked, read = hub.asked(r"^HEAD \S*\.safetensors"), hub.asked(r"^GET \S*\.(safetensors|bin)")
    assert told["refused"] is None
    assert told["type"] == "qwen2"
    assert told["kind"] == "hub"
    assert told["bytes"] == len(file)
    assert told["adapted"] == "default"
    assert looked, "whether there are any is asked"
    assert read == []
    assert "acme/gone is not a local folder" in told["errors"][0]
    assert "acme/bare does not appear to have a file named" in told["errors"][1]


@pytest.mark.long
def test_a_large_gguf_file_of_the_hub_is_not_downloaded(tiny: Path, tmp_path: Path) -> None:
    """Its configuration is nowhere else, so that there is nothing to make a twin of: that is no failure of the script's."""
    with loopback_hub() as hub:
        hub.add_model("acme/llama-GGUF", {"llama.Q4_K_M.gguf": bytes(2**26 + 1)})
        variables = {**hub.variables, "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path / "home")}
        told = asker(tmp_path, tiny)("of_a_gguf_file", variables=variables)["of_a_gguf_file"]
        read = hub.asked(r"^GET \S*\.gguf")
    assert told["refused"].startswith("NotDownloadedError: no small twin of the model type GGUF")
    assert read == []
