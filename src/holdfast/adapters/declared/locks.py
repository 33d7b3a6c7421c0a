"""Lock files, which name exact versions: `uv.lock`, `poetry.lock`, `pdm.lock`, `pylock.toml`."""

import tomllib
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from holdfast.adapters.declared.files import Finder
from holdfast.core.environment.requirement import ProjectRequirements, Requirement, RequirementProblem
from holdfast.core.environment.versions import normalized
from holdfast.core.text.places import Place
from holdfast.core.text.toml_text import parse_toml


@lru_cache(maxsize=2)  # the scripts of a project have the same lock, which takes far longer to parse than they do
def read_lock(text: str, path: Path, _: frozenset[str]) -> ProjectRequirements:
    """Return the versions that a lock file names."""
    try:
        table = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        problem = RequirementProblem(f"no TOML: {error}", Place(str(path)), hides_more=True)
        return ProjectRequirements(
            kind="lock", origin=path.name, path=str(path), problems=(problem,), unsure=f"{path.name} is not valid TOML"
        )
    rows = defaultdict[str, list[dict[str, Any]]](list)
    packages = table.get("package", table.get("packages", []))
    for row in packages if isinstance(packages, list) else []:
        if isinstance(row, dict) and isinstance(row.get("name"), str):
            rows[normalized(row["name"])].append(row)
    finder = Finder(text, str(path))
    python = table.get("requires-python", "")
    return ProjectRequirements(
        kind="lock",
        origin=path.name,
        path=str(path),
        requirements=tuple(_locked(package, each, finder) for package, each in rows.items()),
        python=python if isinstance(python, str) else "",
    )


def _locked(name: str, rows: list[dict[str, Any]], finder: Finder) -> Requirement:
    """Return the one version; where there are several, which counts depends on where it is installed."""
    versions = {str(row.get("version", "")) for row in rows}
    place = finder.place(name)
    if len(versions) > 1:
        text = f"{name} {' or '.join(sorted(versions))}"
        return Requirement(name=name, unknown=f"the lock has {text}", text=text, place=place)
    version = versions.pop()
    if _from_elsewhere(rows[0]) or not version:
        unknown = f"{name} {version}".strip() + " is not from a registry"
        return Requirement(name=name, unknown=unknown, text=f"{name} {version}", place=place)
    return Requirement(name=name, specifier=f"=={version}", text=f"{name}=={version}", place=place)


def _from_elsewhere(row: dict[str, Any]) -> bool:
    """True if a package comes from a repository or a folder."""
    source = row.get("source", {})
    kinds = {"git", "directory", "editable", "virtual", "path"}
    return isinstance(source, dict) and (bool(kinds & set(source)) or source.get("type") in {*kinds, "file"})
