"""Facts about the models that holdfast makes, before they are made."""

from collections.abc import Mapping
from typing import Final

from holdfast.catalog.builtin import MODELS, tiny_chat
from holdfast.core.check.facts import ModelFacts

MADE: Final = frozenset(f"{name}.json" for name in ("config", "generation_config", "tokenizer", "tokenizer_config")) | {
    "chat_template.jinja",
    "model.safetensors",
}
"""Files that a built-in model will have."""
QWEN2_LAYER: Final = (
    *(f"self_attn.{part}_proj.{kind}" for part in "qkv" for kind in ("weight", "bias")),
    "self_attn.o_proj.weight",
    *(f"mlp.{part}_proj.weight" for part in ("gate", "up", "down")),
    "input_layernorm.weight",
    "post_attention_layernorm.weight",
)
"""Names of the weights in a layer of Qwen2."""
TINY_CHAT: Final[Mapping[str, int]] = {
    "hidden_size": 192,
    "intermediate_size": 576,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
}
"""Sizes of the built-in chat model."""


def builtin_model(path: str) -> ModelFacts | None:
    """Return the facts about a built-in model before it is made; None if there is none of that name."""
    if path not in MODELS:
        return None
    config = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "tie_word_embeddings": True}
    sizes = {
        "num_hidden_layers": tiny_chat.LAYERS,
        "vocab_size": tiny_chat.VOCABULARY,
        "max_position_embeddings": tiny_chat.CONTEXT_TOKENS,
    }
    return ModelFacts(files=MADE, config={**config, **TINY_CHAT, **sizes}, chat_template=tiny_chat.CHAT_TEMPLATE)


def builtin_tensors(path: str) -> frozenset[str]:
    """Return the names of a built-in model's weights; none if there is none of that name."""
    if path not in MODELS:
        return frozenset()
    layers = (f"model.layers.{layer}.{part}" for layer in range(tiny_chat.LAYERS) for part in QWEN2_LAYER)
    return frozenset((*layers, "model.embed_tokens.weight", "model.norm.weight"))
