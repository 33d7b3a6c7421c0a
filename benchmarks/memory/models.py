"""The models that are measured: their configurations, without weights."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("models.toml")
# What a dry run makes small, and what it becomes; other fields stay as they are.
TINY = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "num_experts": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "vocab_size": 512,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 1,
}


@dataclass(frozen=True, slots=True)
class Model:
    """A released model by what its configuration says.

    Attributes:
        name: Short name, unique in the table.
        family: Models of one family share a design; whole families are kept as holdout.
        holdout: Whether nothing may be fitted to measurements of this model.
        parameters: Each tied weight counted once.
        config: Fields of `config.json`.
    """

    name: str
    family: str
    holdout: bool
    parameters: int
    config: Mapping[str, Any]


@cache
def load_models() -> Mapping[str, Model]:
    """Return every model by its name.

    >>> load_models()["qwen2.5-7b"].parameters
    7615616512
    """
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {
        name: Model(name, row["family"], row["holdout"], row["parameters"], row["config"]) for name, row in rows.items()
    }


def tiny(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same design with sizes that a CPU trains in a second.

    >>> tiny({"model_type": "qwen3", "hidden_size": 4096, "num_hidden_layers": 36})
    {'model_type': 'qwen3', 'hidden_size': 64, 'num_hidden_layers': 2}
    """
    return {
        name: _tiny_rope(value) if name == "rope_parameters" else TINY.get(name, value)
        for name, value in config.items()
    }


def _tiny_rope(rope: Mapping[str, Any]) -> dict[str, Any]:
    """Return rope parameters whose factors fit the tiny head: one for each pair of rotated dimensions."""
    pairs = int(TINY["head_dim"] * rope.get("partial_rotary_factor", 1)) // 2
    return {
        name: value[:pairs] if name.endswith("_factor") and isinstance(value, list) else value
        for name, value in rope.items()
    }
