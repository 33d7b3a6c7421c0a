"""What makes the steps after a resume others though nothing is lost: batches drawn at random, and streams that begin again.

Source: `Trainer._run_epoch` of transformers 5.23. It restores the state of random numbers after it has made the first batches,
so a collator that masks at random masks other tokens. It skips batches within the first pass over a stream only.
"""

import pickle
import random
from typing import Any

from ..events import EventWriter
from ..libraries import np, torch
from ..wrapping import wrap

WRAPPED = "data_collator"
"""Attribute of the function that drops columns before a collator: the collator."""


class RedrawnSteps:
    """Watches what a resumed training draws anew."""

    def __init__(self, events: EventWriter) -> None:
        self._events = events
        self._is_random = False  # whether batches are drawn at random

    def watch(self, module: Any) -> None:
        """Watch where torch makes batches: of a stream its own order is left out, which a resume is to keep."""
        wrap(module._MapDatasetFetcher, "fetch", self._fetch)
        wrap(module._IterableDatasetFetcher, "__init__", self._init)

    def note_epoch(self, event: str, trainer_state: Any, loader: Any) -> None:
        """Report a stream that is over before the training is.

        Args:
            event: The event of the callbacks.
            trainer_state: The state of the trainer.
            loader: What it trains on.
        """
        if event == "on_epoch_end" and trainer_state.global_step < trainer_state.max_steps and not _has_length(loader):
            self._events.fact("stream_ends")

    def _fetch(self, original: Any, fetcher: Any, *args: Any) -> Any:
        return self._look_at(fetcher.collate_fn, original, fetcher, *args)

    def _init(
        self, original: Any, fetcher: Any, dataset: Any, auto_collation: Any, collate: Any, drop_last: Any
    ) -> None:
        def look(rows: Any) -> Any:
            return self._look_at(collate, collate, rows)

        original(fetcher, dataset, auto_collation, look, drop_last)

    def _look_at(self, collate: Any, make: Any, *args: Any) -> Any:
        """Return a batch, and tell whether random numbers were drawn for it."""
        if self._is_random:
            return make(*args)
        before = _states(collate)
        batch = make(*args)
        if self._events.stage == "step" and _states(collate) != before:
            self._is_random = True
            self._events.fact("random_batches")
        return batch


def _states(collate: Any) -> list[object]:
    """Return the states of all random numbers that a collator may draw: those of everybody, and generators of its own."""
    own: list[Any] = [*getattr(getattr(collate, WRAPPED, collate), "__dict__", {}).values()]
    return [
        random.getstate(),
        pickle.dumps(np.random.get_state()),
        bytes(torch.get_rng_state()),
        *(bytes(each.get_state()) for each in own if isinstance(each, torch.Generator)),
        *(each.bit_generator.state for each in own if isinstance(each, np.random.Generator)),
    ]


def _has_length(loader: Any) -> bool:
    try:
        return len(loader) >= 0
    except TypeError:
        return False
