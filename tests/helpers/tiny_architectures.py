"""Tiny models of many architectures, with the tokenizer and the chat template of `work/tiny`, for jobs that are rehearsed.

As a program, in the folder that `tests/helpers/fault_world.py` makes: `python -m tests.helpers.tiny_architectures`.
"""

from collections.abc import Mapping
from typing import Any

WIDTHS: Mapping[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
}
HEADS = {**WIDTHS, "head_dim": 8}
EXPERTS = {
    **WIDTHS,
    "num_local_experts": 4,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "head_dim": 8,
}
LATENT = {
    **EXPERTS,
    "num_key_value_heads": 4,
    "n_routed_experts": 4,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
}
OPT = {"hidden_size": 32, "word_embed_proj_dim": 32, "ffn_dim": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
ARCHITECTURES: Mapping[str, Mapping[str, Any]] = {
    "cohere": WIDTHS,
    "deepseek_v3": LATENT,
    "gemma2": HEADS,
    "gemma3_text": HEADS,
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256},
    "gpt_neox": WIDTHS,
    "gpt_oss": EXPERTS,
    "granitemoe": {name: value for name, value in EXPERTS.items() if name != "head_dim"},
    "llama": WIDTHS,
    "mamba": {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 8},
    "mistral": WIDTHS,
    "mixtral": EXPERTS,
    "olmo2": WIDTHS,
    "opt": OPT,
    "phi3": WIDTHS,
    "qwen3": HEADS,
    "qwen3_moe": EXPERTS,
    "smollm3": WIDTHS,
    "starcoder2": WIDTHS,
}
"""Fields of the configuration of each model type."""


def make_models() -> None:
    """Save a model of each architecture in `work/<model type>`."""
    # Seconds of imports, which only the child process is to pay.
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained("work/tiny")
    tokens = {
        "vocab_size": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "bos_token_id": None,
    }
    for name, fields in ARCHITECTURES.items():
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(name, **tokens, **fields))
        model.save_pretrained(f"work/{name}")
        tokenizer.save_pretrained(f"work/{name}")


if __name__ == "__main__":
    make_models()
