"""The machines of the user's own price file."""

import os
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import expanded
from holdfast.adapters.price_file import load_price_file
from holdfast.adapters.targets.project import Projects
from holdfast.core.errors import GroupedError, SourceError, UsageError, flatten
from holdfast.core.plan.hardware import Hardware

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


def own_hardware_of(target: str) -> tuple[Hardware, ...]:
    """Return the machines of the price file of a target, as a fact: a file that cannot be read leaves the others known.

    Raises:
        SourceError: There is a price file, and it cannot be read or has mistakes.
    """
    try:
        return find_own_hardware(target)
    except (UsageError, GroupedError) as error:
        first = flatten(error)[0]
        raise SourceError(f"{first.where}: {first.what}", where=first.where, fix=first.fix) from None


def _price_file(target: str, named: str | None) -> Path | None:
    if chosen := named or os.environ.get(VARIABLE):
        return expanded(chosen)
    project = Projects().find(target)
    return project.folder / expanded(project.prices) if project.prices else None
