"""Which models take images."""

from collections.abc import Mapping
from typing import Any


def is_vision(config: Mapping[str, Any]) -> bool:
    """Return whether a `config.json` is that of a vision-language model: it holds the config of a vision tower.

    >>> is_vision({"model_type": "qwen2_vl", "vision_config": {}}), is_vision({"model_type": "qwen2"})
    (True, False)
    """
    return "vision_config" in config
