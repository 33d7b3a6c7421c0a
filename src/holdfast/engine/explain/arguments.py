"""What stands under `train`, `peft` and `quantization` in a job file: arguments of the libraries' classes."""

from collections.abc import Mapping
from typing import Any

from holdfast.catalog.calls.train_arguments import CLASSES, arguments, versions
from holdfast.core.job.api import REQUIRED, Parameter
from holdfast.core.job.document import Unknown
from holdfast.core.text.inline_yaml import render_inline_yaml


def argument_keys() -> list[str]:
    """Return the dotted keys of all arguments that a job file passes on."""
    return sorted({f"{_above(part)}.{name}" for part in CLASSES for name in arguments(part)})


def find_argument(key: str) -> Mapping[str, Parameter]:
    """Return the parameters that a key sets, by the path of the class that has them; empty if none has.

    >>> list(find_argument("peft.lora_alpha"))
    ['peft.LoraConfig']
    """
    above, _, name = key.partition(".")
    taken = {CLASSES[part]: arguments(part).get(name) for part in CLASSES if _above(part) == above}
    return {path: parameter for path, parameter in taken.items() if parameter}


def render_argument(key: str, parameters: Mapping[str, Parameter]) -> str:
    """Return the classes that take an argument, with the type and the default that it has there."""
    alike: dict[str, list[str]] = {}
    for path, parameter in parameters.items():
        alike.setdefault(_about(parameter), []).append(f"`{path}`")
    package = next(iter(parameters)).partition(".")[0]
    return "\n\n".join(
        [
            f"# `{key}` in a job file",
            f"Passed on, in {package} {versions()[package]}, the version that a job file gets, to:",
            "\n".join(f"- {', '.join(paths)} ({about})" for about, paths in alike.items()) + "\n",
        ]
    )


def argument_json(key: str, parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return the same as JSON."""
    classes = [
        {"class": path, "type": each.annotation, "default": _default(each), "choices": list(each.choices)}
        for path, each in parameters.items()
    ]
    return {"key": key, "classes": classes}


def _above(part: str) -> str:
    return part if part in ("peft", "quantization") else "train"


def _about(parameter: Parameter) -> str:
    kind = ", ".join(map(str, parameter.choices)) if parameter.choices else parameter.annotation
    default = _default(parameter)
    return ", ".join([kind or "any value", *([f"default {default}"] if default else [])])


def _default(parameter: Parameter) -> str:
    """Return the default as YAML; empty if the argument has none, or it is computed."""
    hidden = parameter.default is REQUIRED or isinstance(parameter.default, Unknown)
    return "" if hidden else render_inline_yaml(parameter.default)
