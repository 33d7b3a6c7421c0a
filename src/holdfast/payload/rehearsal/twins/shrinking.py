"""A model's configuration made small: few and narrow layers of the same architecture.

It goes by the names and relations of fields, not by architectures. Widths of the residual stream become one width in all
parts (text, vision, audio, encoder, decoder), so that what fitted together still fits. A head's width is kept where a field
names it, and with it rotary tables and the widths of latent attention; where it is the width divided by the heads, rotary
tables shrink with it. Every kind of layer that the original has stays, as `layers.py` chooses. Vocabulary, token ids,
patches, windows, ratios of heads and what is not named here stay as they are.

Source: the configuration classes of transformers 5.23.0; `tests/helpers/architectures.py` lists those that were tried.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .layers import OVERRIDES, choose_layers, named, overrides_of, with_overrides

WIDE_VOCABULARY = 75_000
"""Tokens from which an embedding is most of a twin, so that it is narrower."""
WIDTH, NARROW = 64, 32
EACH = 8  # of a head that is the width divided by the heads: rotary positions may turn a part of it, along two axes
LEAST_EACH = 4  # where they turn the whole, along one
EXPERTS = 4  # at least
RANK = 32
STATE = 16  # of a state-space layer, and of its heads
MOST_HEADS = 16
MOST_TIMES = 8  # that a layer is wider inside than the stream, in whole numbers

# The residual stream, and what is projected to it.
WIDTHS = named(
    "hidden_size d_model n_embd embed_dim model_dim dim out_hidden_size projection_dim vision_output_dim lru_width "
    "projector_input_dim projector_output_dim text_hidden_size attention_hidden_size qformer_hidden_size hidden_dim "
    "vision_hidden_size projector_hidden_size encoder_hidden_size pooler_hidden_size cross_attention_hidden_size"
)
# Widths of embeddings, with a projection to the stream where the original's differ.
EMBEDDED = frozenset(("word_embed_proj_dim", "embedding_size", "emb_dim"))
# Widths inside feed-forward layers and projectors.
INNER = named(
    "intermediate_size ffn_dim d_ff n_inner ffn_hidden_size encoder_ffn_dim decoder_ffn_dim moe_intermediate_size "
    "shared_expert_intermediate_size intermediate_size_mlp moe_shared_expert_intermediate_size mlp_hidden_size "
    "shared_intermediate_size projector_hidden_dim expert_ffn_hidden_size dense_intermediate_size mlp_dim "
    "block_ff_dim mlp_intermediate_size moe_ffn_hidden_size expert_dim prefix_dense_intermediate_size"
)
HEADS = named(
    "num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads attention_heads"
)
KEY_HEADS = frozenset(("num_key_value_heads", "num_kv_heads", "kv_n_heads", "n_head_kv"))
HEAD_WIDTHS = ("head_dim", "d_kv", "kv_channels", "qk_nope_head_dim", "attention_head_dim")
RANKS = named("q_lora_rank kv_lora_rank o_lora_rank hidden_size_per_layer_input dim_model_base expert_latent_dim")
DIVIDED = frozenset(("pixtral",))
"""Model types whose heads are the width divided by them, though a field names their width."""
SCALED = frozenset(("mrope_section", "xdrope_section"))
TABLES = frozenset(("long_factor", "short_factor"))
EXPERT_COUNTS = named("num_local_experts num_experts n_routed_experts moe_num_experts num_routed_experts n_experts")
EXPERTS_TAKEN = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "moe_k",
    "moe_topk",
    "moe_top_k",
    "top_k_experts",
    "num_selected_experts",
    "experts_per_token",
)

STATE_HEADS = ("mamba_n_heads", "mamba_num_heads")
STATE_SIZES = ("mamba_d_head", "mamba_head_dim", "mamba_headdim", "mamba_d_state", "ssm_state_size", "state_size")
STATE_GROUPS = ("mamba_n_groups", "mamba_ngroups", "n_groups")

Fields = dict[str, Any]


@dataclass
class ConfigSection:
    """One configuration: its own fields, and the configurations in it by name.

    Attributes:
        fields: What it says, by name; what is nested stays in `parts`.
        parts: Configurations in it.
        kind: Its model type.
    """

    fields: dict[str, Any]
    parts: "dict[str, ConfigSection]" = field(default_factory=dict[str, "ConfigSection"])
    kind: str = ""

    def walk(self) -> "Iterable[ConfigSection]":
        """Yield it and all in it."""
        yield self
        for part in self.parts.values():
            yield from part.walk()


def shrink(original: ConfigSection, *, every_layer: bool = False) -> ConfigSection:
    """Return a small configuration of the same architecture; with `every_layer` it is as deep as it was.

    >>> wide = {"hidden_size": 896, "num_attention_heads": 14, "num_key_value_heads": 2, "num_hidden_layers": 24}
    >>> shrink(ConfigSection({**wide, "intermediate_size": 4864, "vocab_size": 151936})).fields["hidden_size"]
    28
    """
    width = _width(_speaker(original).fields, alone=not original.parts)
    return _narrowed(original if every_layer else _thinned(original), original, width)


def read_block(config: Any) -> ConfigSection:
    """Return a configuration of transformers, or one that a remote repository defines, as a block."""
    fields = dict(vars(config))
    parts = {name: read_block(value) for name, value in fields.items() if is_config(value)}
    return ConfigSection(
        {name: value for name, value in fields.items() if name not in parts}, parts, config.model_type or ""
    )


def write_block(config: Any, block: ConfigSection) -> None:
    """Give a configuration, in place, the values of a block. Its own checks are left to whoever saves it."""
    for name, value in block.fields.items():
        if vars(config).get(name) is not value:
            vars(config)[name] = value
    for name, part in block.parts.items():
        write_block(vars(config)[name], part)


def shrink_config(config: Any, *, every_layer: bool = False) -> ConfigSection:
    """Make a configuration small in place, and return what it was, for `write_block` to restore."""
    before = read_block(config)
    write_block(config, shrink(before, every_layer=every_layer))
    return before


def thin_config(config: Any) -> ConfigSection:
    """Take layers out of a configuration in place and leave all widths; return what it was."""
    before = read_block(config)
    write_block(config, _thinned(before))
    return before


def is_config(value: Any) -> bool:
    """True if a value is a configuration."""
    return hasattr(value, "to_dict") and hasattr(value, "model_type") and not isinstance(value, type)


def _thinned(block: ConfigSection) -> ConfigSection:
    parts = {name: _thinned(part) for name, part in block.parts.items()}
    return ConfigSection(choose_layers(block.fields), parts, block.kind)


def _speaker(root: ConfigSection) -> ConfigSection:
    """Return the part that has the vocabulary: the text model, or the whole."""
    speaking = [block for block in root.walk() if block.fields.get("vocab_size") and _named(block.fields, HEADS)]
    by_name = [part for name, part in root.parts.items() if name in ("text_config", "llm_config", "decoder")]
    for block in [*(each for part in by_name for each in part.walk() if each in speaking), *speaking]:
        return block
    return root


def _named(fields: Mapping[str, Any], names: Iterable[str]) -> dict[str, int]:
    """Return the fields of some names that are numbers."""
    return {name: fields[name] for name in names if _is_count(fields.get(name))}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _heads_of(fields: Mapping[str, Any]) -> tuple[int, int]:
    """Return the numbers of query heads and of key-value heads, in the original's ratio; (0, 0) without attention."""
    asking = max(_named(fields, HEADS).values(), default=0)
    answering = min(_named(fields, KEY_HEADS).values(), default=asking)
    if not asking or answering >= asking:
        return (min(4, asking), min(4, asking))
    ratio = min(asking // answering, MOST_HEADS)
    few = 2 if answering % 2 == 0 and 2 * ratio <= MOST_HEADS // 2 else 1  # two, so that they repeat
    return (few * ratio, few)


def _width(fields: Mapping[str, Any], *, alone: bool) -> int:
    """Return the width of the residual stream: a multiple of the heads; of some eight for each where none is named."""
    heads = max(1, _heads_of(fields)[0])
    wide = (fields.get("vocab_size") or 0) > WIDE_VOCABULARY
    each = LEAST_EACH if wide and alone and _turns_whole(fields) else EACH
    least = NARROW if wide else WIDTH
    step = math.lcm(heads, EACH) if _head_width(fields) else heads * each
    width = step * max(1, least // step)
    return min(width, max([*_named(fields, WIDTHS).values()], default=width))


def _turns_whole(fields: Mapping[str, Any]) -> bool:
    """True if rotary positions, if any, turn a whole head, and along one axis."""
    table = fields.get("rope_parameters") or fields.get("rope_scaling") or {}
    part = table.get("partial_rotary_factor", fields.get("partial_rotary_factor", 1)) or 1
    return part == 1 and not fields.get("rotary_dim") and not SCALED & set(table)


def _head_width(fields: Mapping[str, Any]) -> int:
    """Return the width of a head where a field names it, else 0."""
    return next((fields[name] for name in HEAD_WIDTHS if _is_count(fields.get(name))), 0)


def _narrowed(thin: ConfigSection, original: ConfigSection, width: int) -> ConfigSection:
    fields = _narrow_fields(thin.fields, original.fields, width)
    if original.kind in DIVIDED:
        fields["head_dim"] = width // max(_named(fields, HEADS).values())
    parts = {name: _narrowed(part, original.parts[name], width) for name, part in thin.parts.items()}
    return ConfigSection(fields, parts, original.kind)


def _narrow_fields(thin: Mapping[str, Any], old: Mapping[str, Any], width: int) -> Fields:
    fields = dict(thin)
    for change in (_narrow, _fewer_heads, _shorter_ranks, _fewer_experts, _smaller_states):
        change(fields, old, width)
    overrides: dict[int, dict[str, Any]] = {}
    for place, own in overrides_of(thin).items():
        without = {name: value for name, value in {**old, **own}.items() if name != OVERRIDES}
        small = _narrow_fields(without, without, width)
        overrides[place] = {name: small[name] for name in own}
    return with_overrides(fields, overrides) if overrides else fields


def _narrow(fields: Fields, old: Mapping[str, Any], width: int) -> None:
    """Set the widths of the stream, and those in its layers: multiples of it where the original's are."""
    was = _stream(old)
    for name, value in old.items():
        if _is_inner(name, value, was):
            fields[name] = _inner(fields[name], was, width)
        elif name in EMBEDDED | WIDTHS and _is_count(value):
            fields[name] = _outer(name, value, was, width)
    if old.get("intermediate_layers_indices"):  # what some layers say goes beside what the last says
        fields["vision_output_dim"] = width * (1 + len(fields["intermediate_layers_indices"]))


def _is_inner(name: str, value: Any, was: int) -> bool:
    """True of a width inside layers; `hidden_dim` is DistilBERT's feed-forward layer, where it is not the stream."""
    return name in INNER or (name == "hidden_dim" and value != was)


def _outer(name: str, value: int, was: int, width: int) -> Any:
    """Return the width of a stream or of embeddings: half as wide where the original's embeddings differ."""
    if name in EMBEDDED:
        return width if value == was else width // 2
    return _inner(value, was, width) if name == "attention_hidden_size" else width


def _stream(fields: Mapping[str, Any]) -> int:
    """Return the width of the original's residual stream, or 0."""
    for name in ("hidden_size", "d_model", "n_embd", "embed_dim", "dim"):
        if _is_count(fields.get(name)):
            return int(fields[name])
    return 0


def _inner(value: Any, was: int, width: int) -> Any:
    if isinstance(value, list | tuple):
        return [_inner(each, was, width) for each in value]
    if not _is_count(value):
        return value
    exact = was and value % was == 0 and value // was <= MOST_TIMES
    return min(value, (value // was if exact else 2) * width)


def _fewer_heads(fields: Fields, old: Mapping[str, Any], width: int) -> None:
    heads, keys = _named(old, HEADS), _named(old, KEY_HEADS)
    asking, answering = _heads_of(old)
    if not asking or "state_size" in old:
        return
    if not _head_width(old) and answering == asking:
        asking = answering = _dividing(width, asking)
    for name, value in keys.items():
        fields[name] = asking if value >= max(heads.values()) else answering
    for name in heads:
        fields[name] = asking
    _fit_positions(fields, old, width, asking)


def _dividing(width: int, heads: int) -> int:
    """Return a number of heads, near one, whose width is a multiple of eight."""
    for few in range(min(heads, MOST_HEADS // 2), 0, -1):
        if width % few == 0 and (width // few) % EACH == 0:
            return few
    return 1


def _fit_positions(fields: Fields, old: Mapping[str, Any], width: int, heads: int) -> None:
    """Scale what is as long as half a head, where a head became narrower."""
    before = _stream(old) // max(_named(old, HEADS).values())
    after = width // heads
    if _head_width(old) or not before or after >= before:
        return
    if _is_count(old.get("rotary_dim")):
        fields["rotary_dim"] = max(2, old["rotary_dim"] * after // before // 2 * 2)
    for name in ("rope_parameters", "rope_scaling"):
        if isinstance(old.get(name), Mapping):
            fields[name] = _fit_table(old[name], after / before)


def _fit_table(table: Mapping[str, Any], share: float) -> dict[str, Any]:
    fitted: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            fitted[name] = _fit_table(value, share)
        elif name in SCALED and value:
            fitted[name] = _split(round(sum(value) * share), value)
        elif name in TABLES and value:
            fitted[name] = list(value)[: round(len(value) * share)]
        else:
            fitted[name] = value
    return fitted


def _split(total: int, like: Iterable[int]) -> list[int]:
    """Return whole numbers with a sum, in about the ratio of others.

    >>> _split(8, [16, 24, 24]), _split(4, [24, 20, 20])
    ([2, 3, 3], [2, 1, 1])
    """
    like = list(like)
    bounds = [round(total * sum(like[: place + 1]) / sum(like) + 1e-9) for place in range(len(like))]
    return [end - start for start, end in zip([0, *bounds[:-1]], bounds, strict=True)]


def _shorter_ranks(fields: Fields, old: Mapping[str, Any], width: int) -> None:
    for name in _named(old, RANKS):
        fields[name] = min(old[name], RANK if name != "hidden_size_per_layer_input" else LEAST_EACH)
    if _is_count(old.get("time_step_rank")):
        fields["time_step_rank"] = math.ceil(width / STATE)
    if _is_count(old.get("mamba_dt_rank")):
        fields["mamba_dt_rank"] = math.ceil(width / STATE)


def _fewer_experts(fields: Fields, old: Mapping[str, Any], _width: int) -> None:
    """Leave twice the experts that a token gets, at least two in a group."""
    taken = max([*_named(old, EXPERTS_TAKEN).values()], default=1)
    groups = old.get("n_group") if _is_count(old.get("n_group")) else 1
    for name, value in _named(old, EXPERT_COUNTS).items():
        least = max(EXPERTS, 2 * taken, 2 * (groups or 1))
        fields[name] = min(value, math.ceil(least / (groups or 1)) * (groups or 1))


def _smaller_states(fields: Fields, old: Mapping[str, Any], width: int) -> None:
    """Make state-space layers small: their heads cover the widened stream, as the original's do."""
    grow = old.get("mamba_expand") or old.get("expand")
    if grow:
        inner = int(grow * width)
        most: dict[str, int] = dict.fromkeys(STATE_HEADS, max(1, inner // STATE))
        most |= dict.fromkeys(STATE_SIZES, STATE)
        most |= dict.fromkeys(STATE_GROUPS, 2) | dict.fromkeys(("mamba_d_ssm", "mamba_intermediate_size"), inner)
        if "mamba_headdim" in old:  # Zamba2's; Zamba's are something else
            most["n_mamba_heads"] = inner // STATE
        if "state_size" in old:  # Mamba itself, whose fields are named without it
            most |= {"num_heads": inner // STATE, "head_dim": STATE, "intermediate_size": inner}
        fields |= {name: min(value, most[name]) for name, value in _named(old, most).items()}
    _fewer_linear_heads(fields, old)


def _fewer_linear_heads(fields: Fields, old: Mapping[str, Any]) -> None:
    """Make gated delta layers small, in the ratio of their heads."""
    heads = _named(old, ("linear_num_key_heads", "linear_num_value_heads"))
    if heads:
        ratio = max(1, max(heads.values()) // min(heads.values()))
        fields |= {name: 2 * (ratio if count > min(heads.values()) else 1) for name, count in heads.items()}
        sizes = _named(old, ("linear_key_head_dim", "linear_value_head_dim"))
        fields |= {name: min(size, STATE) for name, size in sizes.items()}
