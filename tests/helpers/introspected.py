"""What the installed libraries' config classes take, by introspection: what the history is compared with."""

import dataclasses
import enum
import inspect
import json
import sys
import types
import typing
from importlib import import_module
from importlib.metadata import version
from typing import Any

PLAIN = {bool: "bool", int: "int", float: "float", str: "str", dict: "dict", list: "list", types.NoneType: "null"}


def describe(path: str) -> dict[str, Any]:
    """Return what each argument of a class may be: names of types, default, choices, and whether they are enforced."""
    module, _, name = path.rpartition(".")
    config = getattr(import_module(module), name)
    if not dataclasses.is_dataclass(config) or path.endswith("BitsAndBytesConfig"):  # it has an `__init__` of its own
        parameters = inspect.signature(config).parameters.values()
        return {each.name: {"default": plain(each.default)} for each in parameters if each.kind is not each.VAR_KEYWORD}
    hints = typing.get_type_hints(config)
    return {field.name: argument(field, hints[field.name]) for field in dataclasses.fields(config) if field.init}


def argument(field: "dataclasses.Field[Any]", hint: Any) -> dict[str, Any]:
    """Return one argument's types, default and choices."""
    members = set(members_of(hint))
    enums = [member for member in members if isinstance(member, type) and issubclass(member, enum.Enum)]
    made = callable(field.default_factory)
    described: dict[str, Any] = {
        "types": sorted(PLAIN.get(member, "?") for member in members),
        "default": plain(field.default_factory() if made else field.default),  # type: ignore[operator]  # a factory
    }
    if enums:
        described |= {"choices": [choice.value for each in enums for choice in each], "enforced": True}
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
    """Return a default as JSON writes it; one that is no plain value, such as a config of its own, in words."""
    value = value.value if isinstance(value, enum.Enum) else value
    return value if isinstance(value, (*PLAIN, type(None))) else "?"


if __name__ == "__main__":
    libraries = ("trl", "transformers", "peft", "accelerate", "datasets", "huggingface_hub")
    told = {
        "found": {path: describe(path) for path in sys.argv[1:]},
        "versions": {name: version(name) for name in libraries},
    }
    json.dump(told, sys.stdout)
