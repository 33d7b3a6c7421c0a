"""Write catalog/train_arguments.json: what the config classes take, read from the installed libraries."""

import dataclasses
import enum
import inspect
import json
import time
import types
import typing
from importlib.metadata import version
from pathlib import Path
from typing import Any

from holdfast.core.job import Method

CATALOG = Path(__file__).parent.parent / "src" / "holdfast" / "catalog" / "train_arguments.json"
CLASSES = {
    Method.SFT: "SFTConfig",
    Method.DPO: "DPOConfig",
    Method.GRPO: "GRPOConfig",
    Method.REWARD: "RewardConfig",
    Method.KTO: "KTOConfig",
    Method.RLOO: "RLOOConfig",
}
PLAIN = {bool: "bool", int: "int", float: "float", str: "str", dict: "dict", list: "list", types.NoneType: "null"}


def introspect() -> dict[str, dict[str, Any]]:
    """Return what each method's config class takes, and what stands under `peft` and `quantization`.

    The shape: method or job key -> argument -> types, default, choices.
    """
    import peft  # noqa: PLC0415 - these take seconds and are extras; only this function needs them
    import transformers  # noqa: PLC0415
    import trl  # noqa: PLC0415

    methods = {method.value: describe(getattr(trl, name)) for method, name in CLASSES.items()}
    adapters = {"peft": describe(peft.LoraConfig), "quantization": describe_call(transformers.BitsAndBytesConfig)}
    return methods | adapters


def describe(config: type) -> dict[str, Any]:
    """Return what each argument of a config class may be."""
    hints = typing.get_type_hints(config)
    return {field.name: argument(field, hints[field.name]) for field in dataclasses.fields(config) if field.init}


def describe_call(config: type) -> dict[str, Any]:
    """Return the same of a class that is no dataclass: names and defaults, and of the types what defaults show."""
    parameters = inspect.signature(config).parameters.values()
    return {
        each.name: {"types": [PLAIN[type(each.default)]], "default": each.default}
        for each in parameters
        if each.kind is not each.VAR_KEYWORD
    }


def argument(field: "dataclasses.Field[Any]", hint: Any) -> dict[str, Any]:
    """Return one argument's types, default and choices."""
    members = set(members_of(hint))
    enums = [member for member in members if isinstance(member, type) and issubclass(member, enum.Enum)]
    described: dict[str, Any] = {
        "types": sorted({PLAIN[member] for member in members if member in PLAIN}),
        "default": plain(field.default_factory() if callable(field.default_factory) else field.default),
    }
    if enums:
        described |= {"choices": [choice.value for each in enums for choice in each], "strict": True}
    elif choices := field.metadata.get("choices"):
        described["choices"] = list(choices)
    return described


def members_of(hint: Any) -> typing.Iterator[Any]:
    """Yield the types that a hint allows, without their own arguments."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        for member in typing.get_args(hint):
            yield from members_of(member)
    elif typing.get_origin(hint) is typing.Literal:
        yield from map(type, typing.get_args(hint))
    else:
        yield typing.get_origin(hint) or hint


def plain(value: Any) -> Any:
    """Return a default as JSON writes it; one that is no plain value, such as a config of its own, as null."""
    value = value.value if isinstance(value, enum.Enum) else value
    return value if isinstance(value, (*PLAIN, type(None))) else None


def shared(parts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the arguments that are the same for every method."""
    first, *others = (parts[method.value] for method in Method)
    return {name: each for name, each in first.items() if all(other.get(name) == each for other in others)}


def render() -> str:
    """Return the catalog's text: one line an argument, what all methods share told once."""
    found = introspect()
    common = shared(found)
    own = {
        part: {name: each for name, each in arguments.items() if part not in CLASSES or name not in common}
        for part, arguments in found.items()
    }
    libraries = {name: version(name) for name in ("trl", "transformers", "peft")}
    lines = [f'{{"made": {json.dumps(libraries | {"date": time.strftime("%Y-%m-%d")})}']
    for part, arguments in ({"shared": common} | own).items():
        rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in arguments.items())
        lines.append(f"{json.dumps(part)}: {{\n{rows}\n}}")
    return ",\n".join(lines) + "}\n"


if __name__ == "__main__":
    CATALOG.write_text(render(), encoding="utf-8")
