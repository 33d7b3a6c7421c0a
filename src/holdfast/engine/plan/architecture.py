"""Architectures: the sizes that decide memory and arithmetic."""

from dataclasses import dataclass

from holdfast.catalog.models.architectures import LayerTraits


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Widths in attention, over all heads of a layer.

    Attributes:
        heads: Query heads.
        query: Width of all queries; that of the keys before they are repeated is `key`.
        key: Width of all keys as the kernel gets them.
        value: Width of all values, likewise.
        output: Width of what attention gives back.
        compressed: Widths of the low-rank latents of multi-head latent attention (MLA), if any: queries, keys and values.
        rotary: Width of the rotary part of an MLA key, which all heads share.
        cached: Elements that the KV cache holds per token and layer.
        window: Tokens that sliding layers look back; 0 if no layer slides.
        sliding: How many layers slide.
    """

    heads: int
    query: int
    key: int
    value: int
    output: int
    compressed: tuple[int, int] = (0, 0)
    rotary: int = 0
    cached: int
    window: int = 0
    sliding: int = 0

    @property
    def grouped(self) -> bool:
        """Whether several queries share a key (GQA, MQA)."""
        return self.key < self.query


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """The experts of a mixture (MoE).

    Attributes:
        count: Experts of a layer.
        chosen: How many each token goes to.
        width: Intermediate width of one.
        shared: Intermediate width of what every token also goes through.
        dense_layers: Layers that have an ordinary MLP instead.
    """

    count: int
    chosen: int
    width: int
    shared: int = 0
    dense_layers: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionTower:
    """What sees the images of a vision-language model, where adapters go too.

    Attributes:
        layers: Number of layers.
        hidden: Width of its stream.
        intermediate: Width of its MLPs.
    """

    layers: int
    hidden: int
    intermediate: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """A decoder.

    Attributes:
        layers: Number of layers.
        hidden: Width of the residual stream.
        intermediate: Width of the MLP.
        vocabulary: Rows of the embedding.
        tied: Whether the head is the embedding.
        traits: What its layers have.
        attention: Its attention.
        experts: Its experts; None of a dense model.
        extra_parameters: Parameters outside the decoder, as of a vision tower.
        vision: The vision tower; None if there is none, or its layers are not known.
        biases: Which projections have biases: `qkv`, `output`, `mlp`.
    """

    layers: int
    hidden: int
    intermediate: int
    vocabulary: int
    tied: bool
    traits: LayerTraits
    attention: Attention
    experts: Experts | None = None
    extra_parameters: int = 0
    vision: VisionTower | None = None
    biases: frozenset[str] = frozenset()
