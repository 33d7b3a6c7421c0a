"""Settings that a script writes down before it has a trainer: an error in them belongs to the stage `import`.

Covered: the arguments of trainers, the configs of adapters (peft) and of quantization (transformers).
"""

import functools
from typing import Any

from ..events import TAIL, EventWriter
from ..part_request import PartRequest
from ..wrapping import every_class, when_imported

ARGUMENTS = ("transformers.training_args", "TrainingArguments")
CONFIGS = (
    ("peft.config", "PeftConfigMixin"),
    ("transformers.utils.quantization_config", "QuantizationConfigMixin"),
)
"""Classes of which configs are made, by their module."""

NO_GPU = "a GPU is assumed; without one transformers refuses it, and `use_cpu=True` or `bf16=False` trains"


def install(part_request: PartRequest, events: EventWriter) -> None:
    """Report errors in settings as of their stage."""
    arguments, base = ARGUMENTS
    when_imported(arguments, lambda module: ConfigHooks(part_request, events).watch(getattr(module, base)))
    for name, owner in CONFIGS:
        when_imported(name, functools.partial(_watch_configs, owner=owner, events=events))


class ConfigHooks:
    """The arguments of trainers."""

    def __init__(self, part_request: PartRequest, events: EventWriter) -> None:
        self._part_request, self._events = part_request, events

    def watch(self, base: Any) -> None:
        """Watch the class of arguments, and those made from it."""
        every_class(base, "__init__", self._init)

    def _init(self, init: Any, settings: Any, *args: Any, **kwargs: Any) -> None:
        if self._part_request.gpu == "none":  # what compiles for a GPU is replaced with the GPU
            for name in [each for each in kwargs if each.startswith("torch_compile") and kwargs[each]]:
                self._events.not_rehearsed(f"{name}={kwargs.pop(name)!r}", "compiling takes minutes; the job shows it")
        if self._part_request.gpu == "assumed" and kwargs.get("bf16") is True and not kwargs.get("use_cpu"):
            self._events.not_rehearsed("bf16=True", NO_GPU)
        with self._events.aside("import"):
            init(settings, *args, **kwargs)


def _watch_configs(module: Any, owner: str, events: EventWriter) -> None:
    def make(init: Any, *args: Any, **kwargs: Any) -> None:
        if not events.is_outside or events.outside == TAIL:  # a library makes it, or it is one of what is delivered
            init(*args, **kwargs)
            return
        with events.aside("import"):
            init(*args, **kwargs)

    every_class(getattr(module, owner), "__init__", make)
