"""What travels inside training scripts: known-good inputs that need no network, and the metrics of answers.

Each is one module that travels inside the script as text; it imports nothing of ours.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from holdfast.core.columns import STRING, ListOf, Scalar, Struct, Type
from holdfast.core.facts import ModelFacts
from holdfast.core.methods import Method

BUILTIN: Final = "builtin:"
"""How the names of what holdfast makes begin."""
MODELS = {"builtin:tiny-chat": "tiny_chat.py"}
"""Module that makes each built-in model."""
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
DATASETS = {"builtin:stdlib-docstrings": "stdlib_docstrings.py"}
"""Module that makes each built-in dataset."""

ANSWER_SCORES: Final = "answer_scores.py"
"""Module that computes the metrics of answers."""

CHAT: Final = ListOf(Struct({"role": STRING, "content": STRING}))
COLUMNS: Final[Mapping[str, Mapping[str, Type]]] = {
    "messages": {"messages": CHAT},
    "preference": {"prompt": CHAT, "chosen": CHAT, "rejected": CHAT},
    "unpaired": {"prompt": CHAT, "completion": CHAT, "label": Scalar("boolean")},
    "prompts": {"prompt": CHAT, "answer": STRING},
}
"""Columns of each configuration of the built-in dataset, with their types."""

ROWS: Final[Mapping[str, int]] = {"train": 3_000, "test": 200}
"""Rows that each of its splits has at least: how many there are, the release of Python decides."""

CONFIG_FOR = {
    Method.SFT: "messages",
    Method.DPO: "preference",
    Method.REWARD: "preference",
    Method.KTO: "unpaired",
    Method.GRPO: "prompts",
    Method.RLOO: "prompts",
}
"""Configuration that a method gets where the job names none."""


def builtin_columns(path: str, config: str | None, method: Method) -> Mapping[str, Type]:
    """Return the columns of a built-in dataset with their types; none if there is no such dataset or configuration.

    >>> [*builtin_columns("builtin:stdlib-docstrings", None, Method.DPO)]
    ['prompt', 'chosen', 'rejected']
    """
    return COLUMNS.get(config or CONFIG_FOR[method], {}) if path in DATASETS else {}


def builtin_model(path: str) -> ModelFacts | None:
    """Return the facts about a built-in model before it is made; None if there is none of that name."""
    if path not in MODELS:
        return None
    from holdfast.catalog.builtin import tiny_chat  # which imports what only its makers need

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
    from holdfast.catalog.builtin import tiny_chat

    layers = (f"model.layers.{layer}.{part}" for layer in range(tiny_chat.LAYERS) for part in QWEN2_LAYER)
    return frozenset((*layers, "model.embed_tokens.weight", "model.norm.weight"))


def load_source(module: str) -> str:
    """Return the text of a module of this package, such as `tiny_chat.py`."""
    return Path(__file__).with_name(module).read_text(encoding="utf-8")
