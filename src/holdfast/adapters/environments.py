"""Which Python runs a script: this environment if it has what the script names, else one that uv makes."""

import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from holdfast.core.errors import UsageError


def select_interpreter(header: Mapping[str, Any], options: Mapping[str, object]) -> tuple[str, ...]:
    """Return the words that run a script: `options.python` if given, this Python if it serves, else `uv run`.

    Args:
        header: The script's PEP 723 metadata.
        options: The backend's options of the job.

    Raises:
        UsageError: This environment lacks packages and uv is not installed.
    """
    if chosen := options.get("python"):
        return (str(chosen),)
    missing = list(find_missing(header))
    if not missing:
        return (sys.executable,)
    if uv := find_uv():
        return (uv, "run", "--no-project", "--script")
    fix = "`pip install 'holdfast[train]'`, or `pip install uv` and let it make an environment for the job"
    raise UsageError(f"this environment lacks {', '.join(missing)}", where=sys.prefix, fix=fix)


def find_missing(header: Mapping[str, Any]) -> Iterator[str]:
    """Yield each requirement of a header that this environment does not meet, its Python among them."""
    if (python := header.get("requires-python")) and not _runs(str(python)):
        yield f"Python {python}"
    for text in header.get("dependencies", []):
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            yield text  # uv will say what is wrong with it
            continue
        if requirement.marker and not requirement.marker.evaluate():
            continue
        try:
            # `2.13.0+cpu` meets `==2.13.0`: a local version is the same release, built for this machine.
            if requirement.specifier.contains(version(requirement.name), prereleases=True):
                continue
        except PackageNotFoundError:
            pass
        yield text


def _runs(python: str) -> bool:
    """Return whether this Python is one that a header asks for; uv says what is wrong with what cannot be read."""
    try:
        return SpecifierSet(python).contains(platform.python_version(), prereleases=True)
    except InvalidSpecifier:
        return False


def find_uv() -> str | None:
    """Return the path of uv, beside this Python or on PATH."""
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else shutil.which("uv")
