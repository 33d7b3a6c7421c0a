"""Architectures by `model_type`: which parts their layers have beyond attention and an MLP.

Source: the modeling files of transformers 5.23; `architectures.toml` has the details.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from holdfast.catalog.tables import load_table

SettingName = str
"""A key of `config.json`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTraits:
    """What the layers of a type have.

    Attributes:
        qkv_bias: Whether the projections to queries, keys and values have biases, or the key that says so.
        output_bias: Likewise, of the projection out of attention.
        mlp_bias: Likewise, of the MLP.
        router_bias: Whether the router of experts has one.
        norms: Norms of the width of the residual stream, per layer.
        head_norms: `head` for norms of queries and keys that all heads share, `width` for norms over all heads, or empty.
        norm_bias: Whether norms have biases.
        gated: Whether the MLP multiplies two projections.
        sinks: Whether each head has a learned sink.
        sdpa: Whether torch's scaled dot product attention can be used; without it, transformers falls back to eager.
        tied: Whether embeddings and head share weights where `config.json` does not say.
        head_dim: Width of a head where it does not say; 0 for the width of the stream by the number of heads.
        full_every: Every how many layers one attends to all tokens and does not slide, where `layer_types` is absent; 0 if all slide.
        peft_experts: Whether peft 0.20 and later counts the experts and their router among the modules of `all-linear`.
        fused: Names of the modules that hold several of the usual projections as one.
        keys: Names for the usual keys, where they differ.
    """

    qkv_bias: bool | SettingName
    output_bias: bool | SettingName
    mlp_bias: bool | SettingName
    router_bias: bool = False
    norms: int
    head_norms: str
    norm_bias: bool
    gated: bool
    sinks: bool = False
    sdpa: bool = True
    tied: bool
    head_dim: int = 0
    full_every: int = 0
    peft_experts: bool = False
    fused: Sequence[str] = ()
    keys: Mapping[str, str] = field(default_factory=dict[str, str])


@cache
def load_traits() -> Mapping[str, LayerTraits]:
    """Return the traits of every type that is known.

    >>> load_traits()["gemma2"].norms, load_traits()["qwen3"].head_norms
    (4, 'head')
    """
    table = load_table("architectures")
    default = table["default"]
    return {name: LayerTraits(**{**default, **row}) for name, row in table.items() if name != "default"}
