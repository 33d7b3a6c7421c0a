"""What a model writes is cut short: a twin of random weights seldom ends a text, and more of it shows nothing."""

from typing import Any

from .events import EventWriter
from .libraries import torch
from .part_request import PartRequest
from .wrapping import when_imported, wrap

WORDS = 32
"""Tokens that a text may have; completions of trainers are shorter."""


def install(_part_request: PartRequest, events: EventWriter) -> None:
    """Have models stop early."""
    when_imported("transformers.generation.utils", lambda module: _watch(module.GenerationMixin, events))


def _watch(owner: Any, events: EventWriter) -> None:
    def criteria(original: Any, model: Any, generation_config: Any, *args: Any, **kwargs: Any) -> Any:
        found = original(model, generation_config, *args, **kwargs)
        found.append(_Enough(generation_config.max_new_tokens or generation_config.max_length, events))
        return found

    wrap(owner, "_get_stopping_criteria", criteria)


class _Enough:
    """Says when texts are long enough."""

    def __init__(self, requested: Any, events: EventWriter) -> None:
        self._asked, self._events, self._start = requested, events, -1

    def __call__(self, input_ids: Any, _scores: Any, **_: Any) -> Any:
        """Return for each text whether it is to end here; it is asked after each token."""
        length = input_ids.shape[-1]
        self._start = length - 1 if self._start < 0 else self._start
        ends = length - self._start >= WORDS
        if ends and self._asked != WORDS:
            self._events.shrunk("tokens that a model writes", self._asked, WORDS)
        return torch.full(input_ids.shape[:1], ends, device=input_ids.device, dtype=torch.bool)
