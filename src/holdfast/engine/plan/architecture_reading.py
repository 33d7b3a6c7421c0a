"""Reads an architecture from `config.json`.

Nothing is guessed: a type that `catalog.models.architectures` does not know, or a size that is missing, raises.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from holdfast.catalog.models.architectures import LayerTraits, load_traits
from holdfast.core.check.finding import MissingFactError
from holdfast.engine.plan.architecture import Architecture, Attention, Experts, VisionTower

CONFIG: Final = "config.json"
EXPERTS: Final = ("num_experts", "num_local_experts", "n_routed_experts")
"""Keys for the number of experts; which one a file has depends on the release that wrote it."""
PATTERN: Final = "sliding_window_pattern"
"""Every how many layers one does not slide; transformers writes it with an underscore before it."""
SIGLIP: Final = "siglip_vision_model"
BIASED: Final = frozenset({"gpt_neox", "gpt_oss", "starcoder2"})
"""Types that have biases where `config.json` does not say."""
DEQUANTIZED: Final = "mxfp4"
"""How weights may be quantized that are 16-bit ones while they are trained."""


def read_architecture(config: Mapping[str, Any]) -> Architecture:
    """Return the sizes of a model. Weights in MXFP4 are taken as 16-bit ones: transformers trains them only dequantized.

    Args:
        config: `config.json`; of a vision-language model, the decoder is under `text_config`.

    Raises:
        MissingFactError: The type is not known, a size is missing, or the weights are quantized by a method that is not.
    """
    quantization = config.get("quantization_config")
    method = quantization.get("quant_method") if isinstance(quantization, Mapping) else None
    if quantization and method != DEQUANTIZED:
        raise MissingFactError(CONFIG, f"the memory of weights quantized with `{method}` is not known")
    text = config.get("text_config")
    read = _Config(text if isinstance(text, Mapping) else config)
    traits = load_traits().get(read.type)
    if traits is None:
        raise MissingFactError(CONFIG, f"the layers of models of type `{read.type}` are not known")
    if read.values is not config:
        traits = replace(traits, peft_experts=False)  # peft 0.21 looks at the type of the whole model
    experts = _experts(read, traits)
    named = {"qkv": traits.qkv_bias, "output": traits.output_bias, "mlp": traits.mlp_bias}
    return Architecture(
        layers=read.size("num_hidden_layers"),
        hidden=read.size("hidden_size"),
        intermediate=read.size("intermediate_size"),
        vocabulary=read.size("vocab_size"),
        tied=bool(read.get("tie_word_embeddings", config.get("tie_word_embeddings", traits.tied))),
        traits=traits,
        attention=_attention(read, traits),
        experts=experts,
        vision=_vision(config),
        biases=frozenset(part for part, key in named.items() if _has_bias(read, key)),
    )


def _vision(config: Mapping[str, Any]) -> VisionTower | None:
    """Return the vision tower of Gemma 3: SigLIP, with four projections in attention and two in the MLP."""
    values = config.get("vision_config")
    if not isinstance(values, Mapping) or values.get("model_type") != SIGLIP:
        return None
    read = _Config(values)
    return VisionTower(
        layers=read.size("num_hidden_layers"),
        hidden=read.size("hidden_size"),
        intermediate=read.size("intermediate_size"),
    )


def _has_bias(config: "_Config", key: bool | str) -> bool:  # noqa: FBT001 - a trait is a bool or the key that says so
    return key if isinstance(key, bool) else bool(config.get(key, config.type in BIASED))


LARGEST_SIZE: Final = 10**9
"""No model has a larger width, number of layers or vocabulary."""


class _Config:
    """`config.json` of a decoder, whose sizes are whole numbers above 0."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.type = str(values.get("model_type"))

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value; the default where there is none, or null."""
        value = self.values.get(name)
        return default if value is None else value

    def count(self, name: str) -> int:
        """Return a number that may be missing; 0 if it is, or is none."""
        value = self.get(name, 0)
        return self._bounded(name, value) if type(value) is int and value > 0 else 0

    def kinds(self, name: str) -> list[object]:
        """Return a list that may be missing."""
        value = self.get(name)
        return list(value) if isinstance(value, list | tuple) else []

    def size(self, name: str, default: int | None = None) -> int:
        """Return a size. Raises MissingFactError where there is none."""
        value = self.get(name, default)
        if type(value) is not int or value <= 0:
            raise MissingFactError(CONFIG, f"it has no usable `{name}`")
        return self._bounded(name, value)

    def _bounded(self, name: str, value: int) -> int:
        """Return a size. Raises MissingFactError if no model has one as large."""
        if value > LARGEST_SIZE:
            raise MissingFactError(CONFIG, f"its `{name}` is larger than that of any model")
        return value


def _attention(config: _Config, traits: LayerTraits) -> Attention:
    heads = config.size("num_attention_heads")
    layers = config.size("num_hidden_layers")
    if config.count("kv_lora_rank"):
        return _latent_attention(config, heads)
    kv_heads = config.size("num_key_value_heads", heads)
    width = config.size("head_dim", traits.head_dim or config.size("hidden_size") // heads)
    window = config.count("sliding_window") if config.get("use_sliding_window", default=True) else 0
    return Attention(
        heads=heads,
        query=heads * width,
        key=kv_heads * width,
        value=kv_heads * width,
        output=heads * width,
        cached=2 * kv_heads * width,
        window=window,
        sliding=_sliding_layers(config, traits, layers) if window else 0,
    )


def _sliding_layers(config: _Config, traits: LayerTraits, layers: int) -> int:
    """Return how many layers attend within a window: as the config lists them, or all but every so many."""
    if kinds := config.kinds("layer_types"):
        return sum(kind == "sliding_attention" for kind in kinds)
    every = config.count(PATTERN) or config.count(f"_{PATTERN}") or traits.full_every
    return layers - (layers // every if every else 0)


def _latent_attention(config: _Config, heads: int) -> Attention:
    """Return the widths of MLA: queries and keys have a part with positions and one without, and both come from latents."""
    rotary, plain, value = config.size("qk_rope_head_dim"), config.size("qk_nope_head_dim"), config.size("v_head_dim")
    latent = config.size("kv_lora_rank")
    return Attention(
        heads=heads,
        query=heads * (plain + rotary),
        key=heads * (plain + rotary),
        value=heads * value,
        output=heads * value,
        compressed=(config.count("q_lora_rank"), latent),
        rotary=rotary,
        cached=heads * (plain + rotary + value),  # transformers caches the expanded keys and values
    )


def _experts(config: _Config, traits: LayerTraits) -> Experts | None:
    keys = traits.keys
    count = next((name for name in EXPERTS if config.count(name)), None)
    if "expert_width" not in keys or count is None:
        return None
    width = config.size(keys["expert_width"])
    shared = config.count(keys["shared_width"]) if "shared_width" in keys else 0
    if "shared_experts" in keys:
        shared = width * config.count(keys["shared_experts"])
    return Experts(
        count=config.size(count),
        chosen=config.size("num_experts_per_tok"),
        width=width,
        shared=shared,
        dense_layers=config.count("first_k_dense_replace") + len(config.kinds("mlp_only_layers")),
    )
