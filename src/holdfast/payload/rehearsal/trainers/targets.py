"""Names of modules and of parameters that an adapter is for, and that fit nothing: PEFT passes them over where others fit.

Source: peft 0.21, `BaseTuner.inject_adapter`: it raises where nothing fits at all, and warns where no name of one kind does.
"""

from collections.abc import Iterator
from typing import Any

from ..events import EventWriter

KINDS = (("target_modules", "targeted_module_names"), ("target_parameters", "targeted_parameter_names"))
"""Settings of an adapter, and the attribute of its tuner that lists what they fit."""


def look_at_targets(model: Any, events: EventWriter) -> None:
    """Report names that fit nothing in the model; several may be meant for other models, so that nothing fails.

    Args:
        model: What is about to be trained; nothing is reported for one without an adapter.
        events: Receives the report.
    """
    configs = getattr(model, "peft_config", None)
    tuner = getattr(model, "base_model", None)
    if not isinstance(configs, dict) or len(configs) != 1:
        return  # a tuner lists what all its adapters fit
    for setting, fits in KINDS:
        found, names = getattr(tuner, fits, None), getattr(next(iter(configs.values())), setting, None)
        if isinstance(found, list) and isinstance(names, list | tuple | set):
            for name in _idle(sorted(map(str, names)), found):
                what = setting.removeprefix("target_").removesuffix("s")
                because = f"`{name}` in `{setting}` fits no {what} of the model, so the adapter trains nothing there"
                events.warning("lora-wrong-target-modules", "model", because)


def _idle(names: list[str], found: list[str]) -> Iterator[str]:
    """Yield the names that fit none of those found; of a layer's number nobody knows, since a twin has few layers."""
    for name in names:
        numbered = any(part.isdigit() for part in name.split("."))
        if not numbered and not any(each == name or each.endswith(f".{name}") for each in found):
            yield name
