"""The machines of the user's own price file."""

import os
from pathlib import Path
from typing import Final

from holdfast.adapters.price_file import load_price_file
from holdfast.adapters.targets.project import Projects
from holdfast.core.hardware import Hardware

VARIABLE: Final = "HOLDFAST_PRICES"


def find_own_hardware(target: str, named: str | None = None) -> tuple[Hardware, ...]:
    """Return the machines of a price file; none if there is none.

    Args:
        target: The path of what is planned, whose project may name a price file.
        named: The price file; by default the one that HOLDFAST_PRICES names, or else the project's `prices`.

    Raises:
        UsageError: It cannot be read.
        GroupedError: Of a UsageError for everything wrong in it, or in the project's settings.
    """
    path = _price_file(target, named)
    return load_price_file(path) if path else ()


def _price_file(target: str, named: str | None) -> Path | None:
    if chosen := named or os.environ.get(VARIABLE):
        return Path(chosen).expanduser()
    project = Projects().find(target)
    return project.folder / Path(project.prices).expanduser() if project.prices else None
