"""Which layers of a model stay when it is made small: of each kind one, and at least two.

Layers differ by lists with an entry for each layer (`layer_types`), by lists of places (`cross_attention_layers`), by
thresholds (`first_k_dense_replace`) and by periods (`decoder_sparse_step`). The shortest beginning that has all kinds is
taken; where that is long, the first layer of each kind.

Source: the configuration classes of transformers 5.23.0.
"""

import copy
import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def named(words: str) -> frozenset[str]:
    """Return the names in a text."""
    return frozenset(words.split())


DEPTHS = (
    "num_hidden_layers",
    "n_layer",
    "n_layers",
    "num_layers",
    "depth",
    "encoder_layers",
    "num_encoder_layers",
    "decoder_layers",
    "num_decoder_layers",
    "num_global_layers",
)
FEWEST, MOST = 2, 8  # layers
OVERRIDES = "_heterogeneity_spec"  # where a configuration keeps what single layers say otherwise

# Lists of the places of layers that are of another kind.
PLACES = named(
    "mlp_only_layers cross_attention_layers attn_layer_indices full_attn_idxs fullatt_block_indexes hybrid_layer_ids "
    "deepstack_visual_indexes intermediate_layers_indices moe_layers moe_layer_indices global_attn_indexes "
    "no_rope_layer_indices attention_layers_idx sparse_layers"
)
# The first layers are of another kind: as many as it says.
THRESHOLDS = ("first_k_dense_replace", "num_dense_layers", "moe_layer_start_index", "n_dense_layers")
# The last layers are: as many as it says.
LAST = ("num_kv_shared_layers",)
# The last of a kind.
ENDS = ("moe_layer_end_index",)
# Every so-manieth layer is.
PERIODS = (
    "decoder_sparse_step",
    "encoder_sparse_step",
    "attn_layer_period",
    "expert_layer_period",
    "moe_layer_interval",
    "moe_layer_freq",
    "cross_attn_every_n_layers",
)
# Lists of kinds that are gone through again and again.
CYCLES = ("block_types",)
# Lists of layers where no number says how many there are.
UNCOUNTED = ("layers_block_type",)
# Lists of some other thing.
NOT_LAYERS = named(
    "image_mean image_std eos_token_id bos_token_id pad_token_id architectures image_grid_pinpoints rope_scaling "
    "rope_parameters vision_feature_layer keys_to_ignore_at_inference"
)


def choose_layers(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a configuration with few layers.

    >>> choose_layers({"num_hidden_layers": 4, "layer_types": ["s", "s", "s", "f"]})
    {'num_hidden_layers': 2, 'layer_types': ['s', 'f']}
    """
    small = dict(fields)
    counts = {name: fields[name] for name in _numbers(fields, DEPTHS) if fields[name] > FEWEST}
    uncounted = (len(fields[name]) for name in UNCOUNTED if isinstance(fields.get(name), list | tuple))
    depths = sorted(set(counts.values()) or set(uncounted), reverse=True)
    for depth in depths:
        stack = fields if depth == depths[0] else _lists_alone(fields, depth)
        kept = _kept(stack, depth)
        small |= {name: len(kept) for name, count in counts.items() if count == depth}
        small |= _remapped(stack, depth, kept)
    return small


def _lists_alone(fields: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """Return the lists of a stack that is not the deepest; places and thresholds are those of the deepest."""
    return {name: fields[name] for name in _lists(fields, depth)}


def _kept(fields: Mapping[str, Any], depth: int) -> list[int]:
    """Return the places of the layers that stay."""
    kinds = [_kind(fields, depth, place) for place in range(depth)]
    firsts = sorted({kind: place for place, kind in reversed(list(enumerate(kinds)))}.values())
    cycles = [len(fields[name]) for name in CYCLES if fields.get(name)]
    period = math.lcm(*cycles, *(_period(fields, name) for name in PERIODS))
    beginning = max(FEWEST, firsts[-1] + 1, period)
    if period > 1 or beginning <= min(MOST, len(firsts) + 1):
        return list(range(min(beginning, depth)))
    return firsts if len(firsts) >= FEWEST else [*range(FEWEST)]


def _period(fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name)
    return value if isinstance(value, int) and value > 0 else 1


def _kind(fields: Mapping[str, Any], depth: int, place: int) -> tuple[Any, ...]:
    listed = [str(fields[name][place]) for name in _lists(fields, depth)]
    there = [place in fields[name] for name in _place_lists(fields)]
    after = [place >= fields[name] for name in _numbers(fields, THRESHOLDS)]
    last = [place >= depth - fields[name] for name in _numbers(fields, LAST)]
    return (*listed, *there, *after, *last, str(overrides_of(fields).get(place)))


def overrides_of(fields: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Return the overrides of single layers, by their positions."""
    spec = fields.get(OVERRIDES)
    return dict(spec.per_layer_overrides) if spec is not None else {}


def with_overrides(fields: Mapping[str, Any], overrides: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Return fields in which single layers say something else than they did."""
    spec = copy.copy(fields[OVERRIDES])
    spec.per_layer_overrides = overrides
    return {**fields, OVERRIDES: spec}


def _lists(fields: Mapping[str, Any], depth: int) -> list[str]:
    """Return the names of lists with an entry for each layer; a string of letters may be one."""
    return [
        name
        for name, value in fields.items()
        if (isinstance(value, list | tuple) or (isinstance(value, str) and "pattern" in name))
        and len(value) == depth
        and name not in PLACES | NOT_LAYERS
        and name not in CYCLES
    ]


def _place_lists(fields: Mapping[str, Any]) -> list[str]:
    return [name for name in PLACES if isinstance(fields.get(name), list | tuple)]


def _numbers(fields: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return those of the names whose fields are whole numbers."""
    return [name for name in names if isinstance(fields.get(name), int)]


def _remapped(fields: Mapping[str, Any], depth: int, kept: Sequence[int]) -> dict[str, Any]:
    """Return the settings that differ by layer, for the layers that stay."""
    remapped = {name: _entries(fields[name], kept) for name in _lists(fields, depth)}
    for name in _place_lists(fields):
        remapped[name] = [new for new, place in enumerate(kept) if place in fields[name]]
    remapped |= _remapped_numbers(fields, depth, kept)
    if overrides := overrides_of(fields):
        there = {new: overrides[place] for new, place in enumerate(kept) if place in overrides}
        remapped = with_overrides({**remapped, OVERRIDES: fields[OVERRIDES]}, there)
    return remapped


def _entries(listed: Sequence[Any], kept: Sequence[int]) -> Any:
    """Return the entries of the layers that stay; of a text, a text."""
    entries = [listed[place] for place in kept]
    return "".join(entries) if isinstance(listed, str) else entries


def _remapped_numbers(fields: Mapping[str, Any], depth: int, kept: Sequence[int]) -> dict[str, int]:
    """Return the thresholds, the counts of last layers and the ends for the layers that stay, which are in order."""
    before = {name: bisect_left(kept, fields[name]) for name in _numbers(fields, THRESHOLDS)}
    last = {name: len(kept) - bisect_left(kept, depth - fields[name]) for name in _numbers(fields, LAST)}
    ends = {name: min(fields[name], len(kept) - 1) for name in _numbers(fields, ENDS)}
    return {**before, **last, **ends}
