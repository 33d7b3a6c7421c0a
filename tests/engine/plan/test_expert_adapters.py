"""Adapters on the experts of a mixture, counted beside those that peft makes of a tiny model."""

from typing import Any, Final

import pytest

from holdfast.catalog.calls.train_arguments import stack_api
from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.document import Document
from holdfast.engine.plan.adapters import read_adapter
from holdfast.engine.plan.parameters import adapter_parameters, expert_adapter_parameters, read_model
from holdfast.engine.plan.step import LoraAdapter

ATTENTION: Final = ("q_proj", "k_proj", "v_proj", "o_proj")
USUAL: Final = ("gate_proj", "up_proj", "down_proj")
MIXTRAL: Final = ("w1", "w2", "w3")
SIZES: Final[dict[str, Any]] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 99,
    "num_experts_per_tok": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 1,
}
CONFIGS: Final[dict[str, dict[str, Any]]] = {
    "olmoe": {**SIZES, "num_experts": 4},
    "qwen3_moe": {**SIZES, "num_experts": 6, "moe_intermediate_size": 24, "head_dim": 8},
    "mixtral": {**SIZES, "num_local_experts": 4},
}


def _read(kind: str, targets: object) -> LoraAdapter:
    job = Document(path="job.yaml", kind="job", values={"method": "sft", "peft": {"r": 4, "target_modules": targets}})
    adapter = read_adapter(job, stack_api(), kind, read_model({"model_type": kind, **CONFIGS[kind]}))
    assert adapter is not None
    return adapter


def _made(kind: str, targets: object) -> int:
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoConfig, AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **CONFIGS[kind]))
        model = get_peft_model(model, LoraConfig(r=4, target_modules=targets, task_type="CAUSAL_LM"))
    return sum(each.numel() for each in model.parameters() if each.requires_grad)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore:The following (rank|alpha)_pattern keys:RuntimeWarning")
@pytest.mark.parametrize(
    ("kind", "targets"),
    [
        ("olmoe", [*ATTENTION, *USUAL]),
        ("olmoe", "all-linear"),
        ("qwen3_moe", ["q_proj", "v_proj", *USUAL]),
        ("qwen3_moe", [*ATTENTION, *USUAL, "gate"]),
        ("mixtral", [*ATTENTION, *MIXTRAL]),
        ("mixtral", [*MIXTRAL, "gate", "o_proj"]),
    ],
)
def test_as_many_parameters_are_trained_as_peft_makes(kind: str, targets: list[str] | str) -> None:
    adapter, model = _read(kind, targets), read_model({"model_type": kind, **CONFIGS[kind]})
    assert adapter.experts
    counted = adapter_parameters(model, adapter.targets, 4) + expert_adapter_parameters(model, 4, router=adapter.router)
    assert counted == _made(kind, targets)


@pytest.mark.parametrize(
    ("kind", "targets"), [("olmoe", ["q_proj", "down_proj"]), ("mixtral", ["q_proj", "w2"]), ("qwen3_moe", ["up_proj"])]
)
def test_of_a_part_of_the_experts_nothing_is_claimed(kind: str, targets: list[str]) -> None:
    with pytest.raises(MissingFactError):
        _read(kind, targets)


def test_without_names_of_experts_only_attention_is_adapted() -> None:
    assert _read("qwen3_moe", ["q_proj"]) == LoraAdapter(rank=4, targets=frozenset({"q_proj"}))


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("targets", ["all-linear", ["q_proj", "v_proj"]])
def test_experts_of_a_model_that_sees_images_get_no_adapter(targets: object) -> None:
    """Peft looks for experts by the type of the whole model, which is not that of its language model."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import InternVLConfig, InternVLForConditionalGeneration

    text = {"model_type": "qwen3_moe", **CONFIGS["qwen3_moe"]}
    tower = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": [28, 28],
    }
    with torch.device("meta"):
        whole = InternVLForConditionalGeneration(InternVLConfig(text_config=text, vision_config=tower))
        total = sum(each.numel() for each in whole.parameters())
        made = get_peft_model(whole, LoraConfig(r=4, target_modules=targets))
    model = read_model({"model_type": "internvl", "text_config": text, "vision_config": tower}, total)
    job = Document(path="job.yaml", kind="job", values={"method": "sft", "peft": {"r": 4, "target_modules": targets}})
    adapter = read_adapter(job, stack_api(), "qwen3_moe", model)

    assert adapter
    assert not adapter.experts
    trained = {name: each.numel() for name, each in made.named_parameters() if each.requires_grad}
    assert not any("experts" in name for name in trained)
    in_language_model = sum(size for name, size in trained.items() if "language_model" in name)
    assert adapter_parameters(model, adapter.targets, adapter.rank) == in_language_model


@pytest.mark.parametrize("targets", [[*USUAL], ["gate_proj"]])
def test_adapters_on_experts_that_peft_does_not_find_are_refused(targets: list[str]) -> None:
    text = {"model_type": "qwen3_moe", **CONFIGS["qwen3_moe"]}
    model = read_model({"model_type": "internvl", "text_config": text}, 10**9)
    job = Document(path="job.yaml", kind="job", values={"method": "sft", "peft": {"r": 4, "target_modules": targets}})
    with pytest.raises(MissingFactError, match="adapters on experts"):
        read_adapter(job, stack_api(), "qwen3_moe", model)
