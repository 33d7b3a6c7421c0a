"""How many positions a model has, and what becomes of a text that is longer.

Source: tried with transformers 5.23 and tiny models of 64 positions and rows of 320 tokens: GPT-2, OPT, GPT-Neo, GPT-BigCode, BioGPT
and CodeGen raise IndexError, GPT-J and MPT RuntimeError; Llama, Phi, Phi 3, GPT-NeoX, Falcon and Qwen2 train.
"""

from collections.abc import Mapping
from typing import Any, Final

from holdfast.core.check.facts import Positions

TABLES: Final[Mapping[str, str]] = {
    "biogpt": "max_position_embeddings",
    "codegen": "n_positions",
    "gpt2": "n_positions",
    "gpt_bigcode": "n_positions",
    "gpt_neo": "max_position_embeddings",
    "gptj": "n_positions",
    "mpt": "max_seq_len",
    "opt": "max_position_embeddings",
}
"""Types that raise for a position beyond the last, with the name of that number in their configs."""
ROTATES: Final = ("rope_theta", "rope_parameters", "rope_scaling")
PLAIN: Final = (None, "default")


def positions_of(config: Mapping[str, Any]) -> Positions | None:
    """Return the positions of a model by its `config.json`; None if nothing sure is said of longer texts.

    >>> positions_of({"model_type": "gpt2", "n_positions": 1024})
    Positions(count=1024, raises=True)
    >>> positions_of({"max_position_embeddings": 4096, "rope_theta": 1e4, "rope_scaling": {"type": "yarn", "factor": 4}})
    """
    name = TABLES.get(str(config.get("model_type")))
    if name is None and not _rotates(config):
        return None
    count = config.get(name or "max_position_embeddings")
    return Positions(count, raises=name is not None) if type(count) is int and count > 0 else None


def _rotates(config: Mapping[str, Any]) -> bool:
    """True if a model surely rotates its positions, as far as it was trained and no further."""
    if "text_config" in config or not any(config.get(name) for name in ROTATES):
        return False
    given = [config.get(name) for name in ("rope_parameters", "rope_scaling")]
    kinds = [each.get("rope_type", each.get("type")) for each in given if isinstance(each, Mapping)]
    return all(kind in PLAIN for kind in kinds)
