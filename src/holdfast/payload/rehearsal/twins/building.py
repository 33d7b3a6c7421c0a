"""Models that are made are made small: the configuration shrinks just before the first line of a model's own code.

`PreTrainedModel.__new__` is the one place that all of them pass: loaded ones, those that the script makes of a configuration,
and those of a remote repository's code.
"""

import copy
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from ..events import EventWriter
from ..libraries import torch
from ..part_request import PartRequest
from ..wrapping import wrap
from .shrinking import is_config, read_block, shrink_config, thin_config, write_block

LARGE = 50_000_000
"""Parameters above which a model that the script makes itself is made small."""
SMALL = 3_000_000
"""Parameters up to which a loaded one is small enough as it is."""
BEARABLE = 300_000_000
"""Parameters of a model that can still be made where only layers could be taken out."""
MARK = "_holdfast_twin"
# Where a script speaks of layers by their numbers, none may be missing.
NUMBERED = re.compile(
    r"layers_to_transform|layers?\.\{|layers?\.\d|\.(layers?|h|blocks?|block)\[|layer_(idx|index|num|indices)|layers_pattern"
    r"|num_hidden_layers|rank_pattern|alpha_pattern|n_layers?\b"
)


class CannotRehearseError(RuntimeError):
    """A model that could not be made small."""


class NotDownloadedError(CannotRehearseError, OSError):
    """A model whose configuration is only in a large file; transformers hides what is no OSError behind one of its own."""


class Builder:
    """Makes models small as they are made."""

    def __init__(self, part_request: PartRequest, events: EventWriter) -> None:
        self._events = events
        self._every_layer = bool(NUMBERED.search(part_request.source))
        self._as_is = 0  # how many reasons there are to leave models alone
        self.loading = False  # whether what is made now is loaded
        self.last: tuple[str, int] = ("", 0)  # class and parameters of the original of the last twin
        self.shapes: Mapping[str, tuple[int, ...]] = {}  # of its parameters, tied ones once

    def watch(self, module: Any) -> None:
        """Take the place of what makes a model, and keep the mark out of what is saved."""

        def make(cls: Any, *args: Any, **kwargs: Any) -> Any:
            self.before(cls, args, kwargs)
            return object.__new__(cls)

        module.PreTrainedModel.__new__ = make
        config_class = getattr(module, "PreTrainedConfig", None) or module.PretrainedConfig
        wrap(config_class, "to_dict", lambda original, config: _without_mark(original(config)))

    @contextmanager
    def left_alone(self) -> Iterator[None]:
        """Make models as they are."""
        self._as_is += 1
        try:
            yield
        finally:
            self._as_is -= 1

    def before(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Make the configuration of a model that is about to be made small, once."""
        config, others, named = _config_of(args, kwargs)
        if self._as_is or not is_config(config) or MARK in vars(config):
            return

        def shapes() -> Mapping[str, tuple[int, ...]]:
            with self.left_alone():
                return _shapes(cls, config, others, named)

        def count() -> int:
            return sum(map(math.prod, shapes().values()))

        original = shapes()
        parameters = sum(map(math.prod, original.values()))
        if self.loading:
            self.last, self.shapes = (cls.__name__, parameters), original
        if parameters > (SMALL if self.loading else LARGE):
            self._shrink(config, parameters, count)
            self._events.shrunk(f"parameters of {cls.__name__}", parameters, count())
        _mark(config)

    def _shrink(self, config: Any, parameters: int, count: Callable[[], int]) -> None:
        before = read_block(config)
        for way in (partial(shrink_config, every_layer=self._every_layer), thin_config):
            # A model's own code may refuse sizes that it was not written for.
            with suppress(Exception):
                way(config)
                if count() <= min(parameters, BEARABLE):
                    return
            write_block(config, before)
        if parameters > BEARABLE:
            because = "its layers could not be made smaller; a machine that can hold it shows it"
            self._events.not_rehearsed(f"a model of the type {config.model_type}", because)
            message = f"no small twin of the model type {config.model_type} could be made"
            self._events.out_of_reach(message)
            raise CannotRehearseError(message)


def _config_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return the configuration that a model is made with, and its other arguments."""
    if "config" in kwargs:
        return kwargs["config"], args, {name: value for name, value in kwargs.items() if name != "config"}
    return next(iter(args), None), args[1:], kwargs


def is_twin(model: Any) -> bool:
    """True if a model was made with a configuration that was looked at."""
    return MARK in vars(getattr(model, "config", object)) if is_config(getattr(model, "config", None)) else False


def _mark(config: Any) -> None:
    vars(config)[MARK] = True
    for value in list(vars(config).values()):
        if is_config(value):
            _mark(value)


def _without_mark(record: dict[str, Any]) -> dict[str, Any]:
    record.pop(MARK, None)
    return record


def _shapes(cls: Any, config: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Mapping[str, tuple[int, ...]]:
    """Return the shapes of a model's parameters by name, tied ones once, without the memory for them."""
    with torch.device("meta"):
        model = cls(copy.deepcopy(config), *args, **kwargs)
    tied = set(getattr(model, "all_tied_weights_keys", None) or ())
    return {name: tuple(each.shape) for name, each in model.named_parameters() if name not in tied}
