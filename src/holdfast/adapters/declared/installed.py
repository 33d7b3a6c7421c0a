"""What an environment has installed, read off the names of its folders: nothing is imported."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from holdfast.core.environment.requirement import ProjectRequirements, Requirement
from holdfast.core.environment.versions import normalized
from holdfast.core.text.places import Place

DISTRIBUTION: Final = re.compile(r"^(.+?)-([^-]+)\.(?:dist|egg)-info$")
SITE_PACKAGES: Final = ("lib/python*/site-packages", "Lib/site-packages")
ENVIRONMENTS: Final = (".venv", "venv")
"""Names of the folders in which projects keep an environment of their own."""


def environments(folders: tuple[Path, ...], environ: Mapping[str, str], prefix: str) -> Iterator[Path]:
    """Yield the environments at hand: the project's own, the activated one, this one.

    Args:
        folders: The script's folder and those above it.
        environ: The environment variables.
        prefix: Where this Python has its packages.
    """
    yield from (
        folder / name for folder in folders for name in ENVIRONMENTS if (folder / name / "pyvenv.cfg").is_file()
    )
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if environ.get(name):
            yield Path(environ[name])
    yield Path(prefix)


def read_environment_at(root: Path) -> ProjectRequirements:
    """Return the packages that an environment has installed, with their versions."""
    found: dict[str, Requirement] = {}
    python = ""
    for folder in (folder for pattern in SITE_PACKAGES for folder in sorted(root.glob(pattern))):
        python = python or folder.parent.name.removeprefix("python")
        for entry in _listed(folder):
            name = DISTRIBUTION.match(entry)
            if name:
                each = _requirement(name[1], name[2], folder / entry)
                found.setdefault(each.name, each)
    return ProjectRequirements(
        kind="environment",
        origin=f"the environment {root.name}",
        path=str(root),
        requirements=tuple(found.values()),
        python=f"=={python}.*" if re.fullmatch(r"3\.\d+", python) else "",
    )


def _requirement(name: str, version: str, folder: Path) -> Requirement:
    text = f"{normalized(name)}=={version}"
    return Requirement(name=normalized(name), specifier=f"=={version}", text=text, place=Place(str(folder)))


def _listed(folder: Path) -> list[str]:
    try:
        return sorted(each.name for each in folder.iterdir())
    except OSError:
        return []
