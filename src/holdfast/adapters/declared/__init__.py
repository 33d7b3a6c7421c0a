"""What a script's project declares that it needs: the script's header, else the project around it, else what is installed.

Covered: PEP 723 headers; `uv.lock`, `poetry.lock`, `pdm.lock`, `pylock.toml`; requirements files with their includes;
`pyproject.toml` (PEP 621, dependency groups, poetry, uv), `setup.cfg`, `setup.py`, Pipfile, conda's `environment.yml`;
`pip install` in Dockerfiles and notebooks; the environment at hand. Not covered: what a `setup.py` computes, editable
installs of other folders, indexes other than the registry.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Final

from holdfast.adapters.declared import setup_files
from holdfast.adapters.declared.files import load_text
from holdfast.adapters.declared.installed import environments, read_environment_at
from holdfast.adapters.declared.installs import read_cells as read_installing_cells
from holdfast.adapters.declared.installs import read_dockerfile
from holdfast.adapters.declared.locks import read_lock
from holdfast.adapters.declared.requirements_file import load_requirements
from holdfast.adapters.declared.toml_files import read_header_block, read_pyproject
from holdfast.catalog.api import packages
from holdfast.core.environment.requirement import ProjectRequirements
from holdfast.core.environment.versions import normalized
from holdfast.core.job.notebook import is_notebook, read_cells

__all__ = ["find_declared", "read_environment_at", "read_header_block"]

CORE: Final = frozenset({"trl", "transformers"})
"""A file that names neither says nothing of a training script."""
LOCKS: Final = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml")
PROJECT_FILES: Final = (
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "Pipfile",
    "environment.yml",
    "environment.yaml",
    "Dockerfile",
)
REQUIREMENTS: Final = ("requirements*.txt", "*requirements.txt", "requirements/*.txt")
"""Patterns of requirements files that have other names than `requirements.txt`."""
WORD: Final = re.compile(r"[a-z_-]+")
HIGHEST: Final = 12
"""Folders to go up at most."""


def find_declared(
    path: str, text: str, *, environ: Mapping[str, str] = os.environ, prefix: str = sys.prefix
) -> ProjectRequirements:
    """Return the requirements that a script or a notebook declares, from the first place that states any.

    Args:
        path: Its path; its folder and those above it are searched, up to the repository's.
        text: Its source, as it is on disk.
        environ: The environment variables, for the activated environment.
        prefix: Where this Python has its packages.
    """
    ours = frozenset(map(normalized, packages())) | CORE
    if declared := _in_source(text, path, ours):
        return declared
    folders = tuple(_folders(Path(path)))
    if declared := _in_project(folders, ours):
        return declared
    installed = map(read_environment_at, environments(folders, environ, prefix))
    return next(filter(_matters, installed), ProjectRequirements())


def _in_source(text: str, path: str, ours: frozenset[str]) -> ProjectRequirements | None:
    """Return the requirements in a script's header, or those that a notebook's cells install; None if there are none."""
    cells = read_cells(text) if is_notebook(path) else None
    if cells is None:
        return read_header_block(text, path)
    installed = read_installing_cells(cells, Path(path), ours)
    return installed if installed and _matters(installed) else None


def _in_project(folders: Sequence[Path], ours: frozenset[str]) -> ProjectRequirements | None:
    """Return the requirements of the first file that states any, or that may and cannot be read; None if there is none."""
    for found in chain.from_iterable(_in_folder(folder, ours) for folder in folders):
        if unreadable := _unreadable_part(found):
            return replace(found, unsure=found.unsure or f"{found.origin} cannot be read: {unreadable}")
        if _matters(found):
            return _with_python(found, folders)
    return None


def _folders(path: Path) -> Iterator[Path]:
    """Yield the script's folder and those above it, up to the root of the repository: from here, unless the script's path is absolute."""
    folder = path.absolute().parent
    for each in (folder, *folder.parents)[:HIGHEST]:
        yield each if path.is_absolute() else Path(os.path.relpath(each))
        if (each / ".git").exists():
            return


def _matters(requirements: ProjectRequirements) -> bool:
    return any(each.name in CORE for each in requirements.requirements)


def _unreadable_part(requirements: ProjectRequirements) -> str:
    """Return what cannot be understood and may name one of the libraries; empty if nothing does."""
    found = (each for each in requirements.problems if each.hides_more or CORE & {*WORD.findall(each.text)})
    return next((each.what for each in found), "")


def _in_folder(folder: Path, ours: frozenset[str]) -> Iterator[ProjectRequirements]:
    """Yield the requirements that each file of one folder declares, the most exact first."""
    yield from _read_each(folder, LOCKS, ours)
    yield from _requirements_files(folder, ours)
    yield from _read_each(folder, PROJECT_FILES, ours)


def _read_each(folder: Path, names: Iterable[str], ours: frozenset[str]) -> Iterator[ProjectRequirements]:
    for name in names:
        text = load_text(folder / name)
        if text is not None:
            yield _file_reader(name)(text, folder / name, ours)


def _file_reader(name: str) -> Callable[[str, Path, frozenset[str]], ProjectRequirements]:
    """The function that reads a file of this name."""
    if name in LOCKS:
        return read_lock
    if name == "pyproject.toml":
        return read_pyproject
    if name == "Dockerfile":
        return read_dockerfile
    return {
        "setup.cfg": setup_files.read_setup_cfg,
        "setup.py": setup_files.read_setup_py,
        "Pipfile": setup_files.read_pipfile,
    }.get(name, setup_files.read_environment)


def _requirements_files(folder: Path, ours: frozenset[str]) -> Iterator[ProjectRequirements]:
    """Yield `requirements.txt` if it matters; else the others, which are in doubt where they disagree."""
    usual = _from_requirements(folder / "requirements.txt")
    yield usual
    if _matters(usual):
        return
    paths = {path for pattern in REQUIREMENTS for path in folder.glob(pattern)} - {folder / "requirements.txt"}
    if others := list(filter(_matters, map(_from_requirements, sorted(paths)))):
        yield _combined(others, ours)


def _combined(files: Sequence[ProjectRequirements], ours: frozenset[str]) -> ProjectRequirements:
    """Return the first of several requirements files; in doubt if they disagree on the packages that matter."""
    if len({_specifiers(file, ours) for file in files}) == 1:
        return files[0]
    names = " and ".join(file.origin for file in files)
    return replace(files[0], origin=names, problems=(), unsure=f"{names} do not declare the same")


def _specifiers(requirements: ProjectRequirements, ours: frozenset[str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((each.name, each.specifier) for each in requirements.requirements if each.name in ours))


def _from_requirements(path: Path) -> ProjectRequirements:
    found = load_requirements(path)
    return ProjectRequirements(
        kind="requirements",
        origin=path.name,
        path=str(path),
        requirements=tuple(found.requirements),
        problems=tuple(found.problems),
    )


def _with_python(requirements: ProjectRequirements, folders: Sequence[Path]) -> ProjectRequirements:
    """Return the same with the Python that `.python-version` names, where nothing else does."""
    texts = (load_text(folder / ".python-version") for folder in folders)
    named = next((text.strip() for text in texts if text), "")
    if requirements.python or not named.replace(".", "").isdigit():
        return requirements
    return replace(requirements, python=f"=={named}.*" if named.count(".") == 1 else f"=={named}")
