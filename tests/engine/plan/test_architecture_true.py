"""The sizes of each architecture, beside the parameters of the real class on the meta device."""

import pytest

from holdfast.catalog.models.architectures import load_traits
from holdfast.engine.plan.architecture_reading import read_architecture
from holdfast.engine.plan.parameters import total_parameters

pytestmark = pytest.mark.train

SMALL = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "vocab_size": 512,
    "num_key_value_heads": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
EXPERTS = {
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 64,
    "shared_expert_intermediate_size": 96,
    "num_experts": 4,
    "num_local_experts": 4,
}
LATENT = {
    "num_key_value_heads": 4,
    "kv_lora_rank": 32,
    "q_lora_rank": 48,
    "qk_rope_head_dim": 16,
    "qk_nope_head_dim": 32,
    "v_head_dim": 32,
    "n_routed_experts": 4,
    "n_shared_experts": 2,
    "moe_intermediate_size": 64,
    "num_experts_per_tok": 2,
    "first_k_dense_replace": 1,
    "n_group": 1,
    "topk_group": 1,
}


@pytest.mark.parametrize("model_type", load_traits())
def test_an_architecture_counts_the_parameters_of_its_class(model_type: str) -> None:
    import torch
    from transformers import CONFIG_MAPPING, AutoModelForCausalLM

    mixture = "expert_width" in load_traits()[model_type].keys
    given = SMALL | (LATENT if model_type.startswith("deepseek") else EXPERTS if mixture else {})
    known = CONFIG_MAPPING[model_type]().to_dict().keys() | CONFIG_MAPPING[model_type].attribute_map.keys()
    config = CONFIG_MAPPING[model_type](**{name: value for name, value in given.items() if name in known})
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    assert model._supports_sdpa is load_traits()[model_type].sdpa
    assert total_parameters(read_architecture(config.to_dict())) == sum(each.numel() for each in model.parameters())
