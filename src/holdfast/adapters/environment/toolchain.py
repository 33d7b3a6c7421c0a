"""What training needs on a machine besides its hardware: a driver, uv, libraries that go together, a sandbox."""

import shutil
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement

from holdfast.adapters.declared.uv import find_uv
from holdfast.adapters.environment.interpreters import find_missing
from holdfast.adapters.environment.program_output import output_of

SANDBOX: Final = (sys.executable, "-P", "-m", "holdfast.payload.rehearsal.sandbox")


def driver_version() -> str | None:
    """Return the version of the NVIDIA driver; None if none answers."""
    program = shutil.which("nvidia-smi")
    output = output_of([program, "--query-gpu=driver_version", "--format=csv,noheader"]) if program else None
    return output.splitlines()[0].strip() if output else None


def uv_version() -> str | None:
    """Return the version of uv; None if there is none."""
    program = find_uv()
    output = output_of([program, "--version"]) if program else None
    return output.split()[1] if output and len(output.split()) > 1 else None


def why_no_sandbox() -> str | None:
    """Return why the kernel does not confine rehearsals; None if it does."""
    output = output_of([*SANDBOX])
    return "it could not be tried" if output is None else output or None


def unmet_requirements(packages: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each package with a requirement of its own that this environment does not meet.

    Args:
        packages: Installed versions, by name.
    """
    for name in packages:
        for missing in find_missing(_own_requirements(name)):
            yield name, missing


def _own_requirements(name: str) -> Iterator[str]:
    """Yield the requirements of a package that hold without an extra."""
    try:
        declared = requires(name) or []
    except PackageNotFoundError:
        return
    for text in declared:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            requirement.marker = None
            yield str(requirement)
