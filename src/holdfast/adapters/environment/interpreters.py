"""Which Python runs a script: an environment at hand that has what the script declares, else one that uv makes.

What counts is what `check` reads: a PEP 723 header; without one what the project around the script declares. Of a notebook
that is what its cells install, beside what its host has.
"""

import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from holdfast.adapters.declared import find_declared
from holdfast.adapters.declared.files import load_text
from holdfast.adapters.declared.uv import find_uv, written
from holdfast.adapters.environment.extras import install_command
from holdfast.catalog.api import packages
from holdfast.catalog.environment.packages import load_packages
from holdfast.core.environment.requirement import ProjectRequirements
from holdfast.core.environment.script_header import read_header
from holdfast.core.errors import UsageError
from holdfast.core.job.notebook import is_notebook

SCRIPT: Final = "--script"
"""The last word of uv's that runs a script by its own header."""
WITH: Final = "--with"
UV_RUN: Final = ("run", "--no-project")
IMPORTED: Final = r"^\s*(?:import|from)\s+(?:[\w., ]*,\s*)?{}\b"


def select_interpreter(
    path: str, source: str, options: Mapping[str, object], added: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the words that run a script: `options.python` if given, a Python at hand if it serves, else `uv run`.

    Args:
        path: The script's path; its folder and those above it may declare what it needs.
        source: Its text.
        options: The backend's options of the job.
        added: Requirements that a launcher adds.

    Raises:
        UsageError: The header is not valid TOML; no environment at hand serves, and uv is not installed.
    """
    if chosen := options.get("python"):
        return (str(chosen),)
    if header := read_header(source, path):
        missing = [*find_missing([*header.get("dependencies", ()), *added], str(header.get("requires-python", "")))]
        return (sys.executable,) if not missing else (*_uv(missing), *_with(added), SCRIPT)
    declared = _find_declared(path, source)
    hosted = _host_interpreters(declared, source) if declared.kind == "notebook" else ()
    return _select_for_project(declared, source, (*added, *hosted))


def _find_declared(path: str, source: str) -> ProjectRequirements:
    """Return the requirements that a script declares; of a notebook, whose cells `source` is, by the file itself."""
    cells = load_text(Path(path)) if is_notebook(path) else None
    return find_declared(path, cells or source)


def _host_interpreters(declared: ProjectRequirements, source: str) -> Iterator[str]:
    """Yield the packages that a notebook's host has, and the notebook imports without installing them."""
    named = {each.name for each in declared.requirements}
    for name, package in load_packages().items():
        if package.hosted and name not in named and any(_imports(module, source) for module in package.imports):
            yield name


def reason_for_uv(path: str, source: str, words: Sequence[str], added: Sequence[str]) -> str:
    """Return why uv makes the environment of a script with a header: what this one lacks, and has instead; empty if it does not.

    Args:
        path: The script's path.
        source: Its text.
        words: The words that run it.
        added: Requirements that a launcher adds.
    """
    if words[-1] != SCRIPT:
        return ""
    header = read_header(source, path)
    missing = find_missing([*header.get("dependencies", ()), *added], str(header.get("requires-python", "")))
    return ", ".join(_beside_installed(each) for each in missing)


def _beside_installed(text: str) -> str:
    """Return a requirement with the release that is installed instead."""
    here = next((_version_of(name) for name in _packages_of(text)), "")
    return f"{text} ({here} is installed)" if here else text


def is_made(words: Sequence[str]) -> bool:
    """True if uv makes the environment that some words run a program in, of what a project declares."""
    return WITH in words and words[-1] != SCRIPT


def _select_for_project(declared: ProjectRequirements, source: str, added: Sequence[str]) -> tuple[str, ...]:
    """Return the words that run a script with what its project declares."""
    if declared.kind in ("environment", "nothing"):
        return _select_installed(declared, added)
    open_requirements = [each for each in declared.requirements if not each.constraint and not each.unknown]
    needed = [written(each) for each in open_requirements if _is_needed(each.name, source)]
    missing = [*find_missing([*needed, *added], declared.python)]
    if not missing:
        return (sys.executable,)
    requested = _with([*map(written, open_requirements), *added])
    return (*_uv(missing), "--isolated", *_uv_options(declared), *requested, "python")


def _select_installed(declared: ProjectRequirements, added: Sequence[str]) -> tuple[str, ...]:
    """Return the words that run a script in the environment around it, with what a launcher adds."""
    python = _python_of(Path(declared.path)) if declared.path else sys.executable
    missing = [*find_missing(added)]
    return (python,) if not missing else (*_uv(missing), "--python", python, *_with(added), "python")


def _uv_options(declared: ProjectRequirements) -> list[str]:
    """Return the options of uv for the Python and the day that a project declares."""
    values = {"--exclude-newer": declared.before, "--python": declared.python}
    return [word for name, value in values.items() if value for word in (name, value)]


def _is_needed(name: str, source: str) -> bool:
    """True if a training needs a package of its project: it is a library that is known here, or imported."""
    module = name.replace("-", "_")
    return module in packages() or _imports(module, source)


def _imports(module: str, source: str) -> bool:
    return bool(re.search(IMPORTED.format(re.escape(module)), source, re.MULTILINE))


def _python_of(root: Path) -> str:
    """Return the interpreter of an environment; this one, where it is its own, or there is none."""
    found = next((root / name for name in ("bin/python", "Scripts/python.exe") if (root / name).exists()), None)
    return sys.executable if found is None or root.resolve() == Path(sys.prefix).resolve() else str(found)


def _uv(missing: Sequence[str]) -> tuple[str, ...]:
    """Return the words that begin a call of uv.

    Raises:
        UsageError: It is not installed.
    """
    if uv := find_uv():
        return (uv, *UV_RUN)
    fix = f"`{install_command('train')}`, or `pip install uv` and let it make an environment for the job"
    raise UsageError(f"this environment lacks {', '.join(missing)}", where=sys.prefix, fix=fix)


def _with(requirements: Iterable[str]) -> Iterator[str]:
    for each in requirements:
        yield from (WITH, each)


def find_missing(requirements: Iterable[str], python: str = "") -> Iterator[str]:
    """Yield each requirement that this environment does not meet, its Python among them.

    Args:
        requirements: As PEP 508 writes them.
        python: The versions of Python that are admitted; empty: all.
    """
    if python and not _runs(python):
        yield f"Python {python}"
    yield from (text for text in requirements if not _is_met(text))


def _is_met(text: str) -> bool:
    """True if this environment has what a requirement names, or the requirement does not apply to it."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return False  # uv will say what is wrong with it
    if requirement.marker and not requirement.marker.evaluate():
        return True
    try:
        # `2.13.0+cpu` meets `==2.13.0`: a local version is the same release, built for this machine.
        return requirement.specifier.contains(version(requirement.name), prereleases=True)
    except PackageNotFoundError:
        return False


def find_modules_elsewhere(path: str, source: str, added: Sequence[str]) -> Iterator[str]:
    """Yield the modules of packages that a script declares and this environment, used in place of its own, lacks.

    Args:
        path: The script's path.
        source: Its text.
        added: Requirements that a launcher adds.
    """
    for name in sorted({name for text in (*_declared_texts(path, source), *added) for name in _packages_of(text)}):
        if not _version_of(name):
            known = load_packages().get(name)
            yield from known.imports if known else _usual_modules(name)


def _declared_texts(path: str, source: str) -> list[str]:
    """Return the requirements that a script declares, as PEP 508 writes them."""
    if header := read_header(source, path):
        return [*header.get("dependencies", ())]
    return [written(each) for each in _find_declared(path, source).requirements if not each.unknown]


def _usual_modules(name: str) -> Iterator[str]:
    """Yield the modules that a package is likely to have by its name: `python-levenshtein` has `levenshtein`, in whatever case."""
    yield name.replace("-", "_")
    if name.startswith("python-"):
        yield name.removeprefix("python-").replace("-", "_")


def _packages_of(text: str) -> Iterator[str]:
    """Yield the package that a requirement names, and those that its extras ask for, as far as it is installed here."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return
    if requirement.marker and not requirement.marker.evaluate():
        return
    yield canonicalize_name(requirement.name)
    if requirement.extras:
        yield from _packages_of_extras(requirement)


def _packages_of_extras(requirement: Requirement) -> Iterator[str]:
    for each in map(Requirement, _requires_of(requirement.name)):
        if each.marker and any(each.marker.evaluate({"extra": extra}) for extra in requirement.extras):
            yield canonicalize_name(each.name)


def _requires_of(name: str) -> Sequence[str]:
    try:
        return requires(name) or ()
    except PackageNotFoundError:
        return ()


def _version_of(name: str) -> str:
    """Return the version of a package that is installed here; empty if it is not."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _runs(python: str) -> bool:
    """True if this Python is one that a header asks for; uv says what is wrong with what cannot be read."""
    try:
        return SpecifierSet(python).contains(platform.python_version(), prereleases=True)
    except InvalidSpecifier:
        return False
