"""Batches whose logits would not fit are cut at a length where they do; how long their texts are is looked at before."""

from collections.abc import Mapping
from typing import Any

from ..events import EventWriter
from ..libraries import torch

MATRIX = 2
"""Dimensions of rows of tokens."""
MOST = 4096
"""Tokens of a row that are gone through at most: attention over more takes minutes on a processor."""
BOUNDS, LONGEST = ("cu_seq_lens_q", "cu_seq_lens_k"), ("max_length_q", "max_length_k")
"""What a packed row tells of its texts."""
LOGITS = 2**25
"""Numbers that the logits of a batch are at most; longer batches are cut."""


def cut(inputs: Any, model: Any, events: EventWriter) -> Any:
    """Return a batch whose logits fit: its rows are cut at a length where they would not.

    Args:
        inputs: What a data loader gives; anything but a mapping of tensors is left as it is.
        model: The model, which tells the size of the vocabulary.
        events: Receives each cut.
    """
    tokens: Any = inputs.get("input_ids") if isinstance(inputs, Mapping) else None
    if not torch.is_tensor(tokens) or tokens.dim() != MATRIX:
        return inputs
    count, length = tokens.shape
    room = min(MOST, max(16, LOGITS // max(1, _vocabulary(model)) // max(1, count)))
    if length <= room or isinstance(inputs.get(BOUNDS[0]), list):
        return inputs
    events.shrunk("tokens of a batch", [count, length], [count, room], unit="tokens")
    kind: Any = type(inputs)
    return kind(_shortened(inputs, length, room) | _bounds(inputs, room))


def _shortened(inputs: Mapping[str, Any], length: int, room: int) -> dict[str, Any]:
    """Return what a batch has for each token, for `room` of its `length` tokens."""
    is_packed = "position_ids" in inputs or BOUNDS[0] in inputs
    start = 0 if is_packed else min(_first_label(inputs, length), length - room)
    return {
        name: each[:, start : start + room] if torch.is_tensor(each) and each.shape[1:2] == (length,) else each
        for name, each in inputs.items()
    }


def look_at_positions(inputs: Any, trainer: Any, events: EventWriter) -> None:
    """Report texts that are longer than the positions that the model was trained with, before they are cut.

    TRL's trainers cut rows at `max_length`, which the rules about rows compare. A model with a table of positions raises by itself.
    """
    if any(kind.__module__.startswith("trl.") for kind in type(trainer).__mro__) or not isinstance(inputs, Mapping):
        return
    mask: Any = inputs.get("attention_mask")
    if not torch.is_tensor(mask) or mask.dim() != MATRIX or {"position_ids", *BOUNDS} & inputs.keys():
        return
    count, longest = _positions(trainer.model), int((mask != 0).sum(dim=1).max())
    if count and longest > count:
        because = (
            f"a batch has a text of {longest} tokens, and the model {count} positions: beyond them it gives poor text"
        )
        events.warning("sequence-exceeds-position-limit", "tokenize", because)


def _positions(model: Any) -> int:
    """Return the positions of a model that rotates them, as far as it was trained; 0 of any other."""
    text = _text_config(model)
    rope: Any = getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None) or {}
    plain = isinstance(rope, Mapping) and rope.get("rope_type", rope.get("type", "default")) == "default"
    rotates = bool(rope) or bool(getattr(text, "rope_theta", None))
    return int(getattr(text, "max_position_embeddings", 0) or 0) if rotates and plain else 0


def _bounds(inputs: Mapping[str, Any], room: int) -> dict[str, Any]:
    """Return where the texts of a packed row begin and end, and the longest one, once it is cut."""
    given: dict[str, Any] = {}
    for name, longest in zip(BOUNDS, LONGEST, strict=True):
        bounds: Any = inputs.get(name)
        if torch.is_tensor(bounds):
            given[name] = torch.cat([bounds[bounds < room], bounds.new_tensor([room])])
            if longest in inputs:
                given[longest] = type(inputs[longest])(given[name].diff().max())
    return given


def _first_label(inputs: Mapping[str, Any], length: int) -> int:
    """Return a position shortly before the first token that any row is trained on."""
    labels = inputs.get("labels", inputs.get("completion_mask"))
    if labels is None or tuple(labels.shape) != tuple(inputs["input_ids"].shape):
        return 0
    trained = (labels > 0).any(dim=0).nonzero()
    return max(0, int(trained[0]) - 8) if len(trained) else length


def _vocabulary(model: Any) -> int:
    return int(getattr(_text_config(model), "vocab_size", 0) or 0)


def _text_config(model: Any) -> Any:
    config: Any = getattr(model, "config", None)
    return config.get_text_config() if hasattr(config, "get_text_config") else config
