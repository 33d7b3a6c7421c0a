"""What the config classes behind `train`, `peft` and `quantization` take, for the versions the catalog was made from.

Source: introspection of the installed libraries by `python -m tools.train_arguments`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from holdfast.core.document import ABSENT, Document
from holdfast.core.job import Method


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a config class.

    Attributes:
        types: Names of the plain types it may have: bool, int, float, str, dict, list, null.
        default: Its default value.
        choices: The values it may have; none where any may.
        strict: Whether another value than these raises at once.
    """

    types: frozenset[str]
    default: Any
    choices: tuple[str, ...] = ()
    strict: bool = False


@cache
def arguments(part: str) -> Mapping[str, Argument]:
    """Return what a method's config class takes, or the class behind the job key `peft` or `quantization`.

    Nothing for a part nobody knows.

    >>> arguments("grpo")["num_generations"].default
    8
    """
    catalog = _load()
    shared = catalog["shared"] if part in set(Method) else {}
    found = {**shared, **catalog.get(part, {})}
    return {
        name: Argument(frozenset(each["types"]), each["default"], tuple(each.get("choices", ())), "strict" in each)
        for name, each in found.items()
    }


def arguments_of(job: Document) -> Mapping[str, Argument]:
    """Return the arguments of the job's method."""
    return arguments(str(job.get("method")))


def setting(job: Document, name: str) -> Any:
    """Return what the trainer is given: the job's value, else the default of its method's config class.

    >>> setting(Document(path="j", kind="job", values={"method": "sft", "train": {}}), "save_steps")
    500
    """
    value = job.get(f"train.{name}")
    if value is not ABSENT:
        return value
    argument = arguments_of(job).get(name)
    return argument.default if argument else ABSENT


def versions() -> Mapping[str, str]:
    """Return the versions that the catalog was made from, and its date."""
    made: Mapping[str, str] = _load()["made"]
    return made


@cache
def _load() -> dict[str, Any]:
    text = files("holdfast.catalog").joinpath("train_arguments.json").read_text(encoding="utf-8")
    catalog: dict[str, Any] = json.loads(text)
    return catalog
