"""The projections that a LoRA adapter goes to where `target_modules` is not given.

Source: peft 0.21.2, utils/constants.py, TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING, read 2026-11-27.
"""

from collections.abc import Mapping
from typing import Final

QUERY_AND_VALUE: Final = frozenset({"q_proj", "v_proj"})
DEFAULT_TARGETS: Final[Mapping[str, frozenset[str]]] = dict.fromkeys(
    ("llama", "mistral", "mixtral", "gemma", "gemma2", "gemma3_text", "qwen2", "qwen3"), QUERY_AND_VALUE
)
"""By model type."""
NO_DEFAULT: Final = frozenset(
    {"granite", "phi3", "smollm3", "olmo2", "starcoder2", "olmoe", "qwen3_moe", "qwen2_moe", "granitemoe", "gpt_oss"}
    | {"deepseek_v2", "deepseek_v3"}
)
"""Model types for which peft has none: it raises `ValueError: Please specify target_modules`."""
