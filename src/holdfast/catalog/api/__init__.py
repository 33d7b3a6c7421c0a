"""What the libraries took in each of their releases: names, classes with their parameters, functions, and checks.

Source: `ast` over the wheels of every release; see each file's first line for its date. Nothing is imported.
"""

import re
from functools import cache
from pathlib import Path
from typing import Final

from holdfast.catalog.api.history import BUILTIN, History, load_history
from holdfast.catalog.api.surface import Api

__all__ = ["BUILTIN", "Api", "History", "load_history", "made", "newest", "packages", "released"]

MADE: Final = re.compile(r'"made": ?"([^"]*)"')
FIRST_CHARACTERS: Final = 200
"""A history begins with its package's name and the day it was made."""


def packages(folder: Path = BUILTIN) -> tuple[str, ...]:
    """Return the importable names of all packages whose history is known, in alphabetical order."""
    return tuple(sorted(file.stem for file in folder.glob("*.history")))


def released(package: str, *, folder: Path = BUILTIN) -> tuple[str, ...]:
    """Return a package's releases, oldest first; none where its history is not known."""
    history = load_history(package.replace("-", "_").lower(), folder)
    return history.versions if history else ()


def newest(*, folder: Path = BUILTIN) -> dict[str, str]:
    """Return the newest release of every package in the history."""
    return {package: released(package, folder=folder)[-1] for package in packages(folder)}


def made(*, folder: Path = BUILTIN) -> str:
    """Return the day on which the registry was last asked, as `YYYY-MM-DD`; empty where there is no history."""
    return max((_made(package, folder) for package in packages(folder)), default="")


@cache
def _made(package: str, folder: Path) -> str:
    """Return one history's day, from the beginning of its file."""
    with (folder / f"{package}.history").open(encoding="utf-8") as file:
        found = MADE.search(file.read(FIRST_CHARACTERS))
    return found[1] if found else ""
