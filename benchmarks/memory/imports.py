"""Importing what trains without touching the card, which another process is using.

bitsandbytes asks for the card's generation while it is imported, and PEFT imports it wherever it is installed: the process
would have a context on the card before its turn, and be counted in another's figures. So it is told, or is hidden from
points that do without.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

import torch

from benchmarks.memory.cards import asked_of_driver
from benchmarks.memory.points import Point, needed_packages

BITSANDBYTES = "bitsandbytes"


def import_trainers(point: Point, *, dry: bool) -> ModuleType:
    """Return the module that makes trainers."""
    if BITSANDBYTES not in needed_packages(point):
        hidden: Any = None  # for the import system: there is no such module
        sys.modules[BITSANDBYTES] = hidden
    elif not dry:
        major, minor = asked_of_driver("compute_cap").split(".")
        with told_of_card((int(major), int(minor))):
            import_module(BITSANDBYTES)
    return import_module("benchmarks.memory.trainers")


@contextmanager
def told_of_card(capability: tuple[int, int]) -> Iterator[None]:
    """Have torch answer what is asked about the card meanwhile, and not the card itself."""
    answers = {"is_available": True, "device_count": 1, "get_device_capability": capability}
    kept = {name: getattr(torch.cuda, name) for name in answers}
    for name, answer in answers.items():
        setattr(torch.cuda, name, lambda *_, answer=answer: answer)
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(torch.cuda, name, function)
