"""What the libraries took in each of their releases: names, classes with their parameters, functions, and checks.

Source: `ast` over the wheels of every release; see each file's first line for its date. Nothing is imported.
"""

from functools import cache
from pathlib import Path

from holdfast.catalog.api.folders import BUILTIN, FOLDER, date_of
from holdfast.catalog.api.history import History, load_history
from holdfast.catalog.api.surface import Api

__all__ = ["BUILTIN", "FOLDER", "Api", "History", "load_history", "made", "newest", "packages", "released"]


def packages(folder: Path = FOLDER) -> tuple[str, ...]:
    """Return the importable names of all packages whose history is known, in alphabetical order."""
    return tuple(sorted(file.stem for file in folder.glob("*.history")))


def released(package: str, *, folder: Path = FOLDER) -> tuple[str, ...]:
    """Return a package's releases, oldest first; none if its history is not known."""
    history = load_history(package.replace("-", "_").lower(), folder)
    return history.versions if history else ()


def newest(*, folder: Path = FOLDER) -> dict[str, str]:
    """Return the newest release of every package in the history."""
    return {package: released(package, folder=folder)[-1] for package in packages(folder)}


@cache
def made(*, folder: Path = FOLDER) -> str:
    """Return the day on which the registry was last asked, as `YYYY-MM-DD`; empty if there is no history."""
    return date_of(folder)
