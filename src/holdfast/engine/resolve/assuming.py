"""Versions that are assumed of what nothing pins: a branch of a repository, or a library that is not declared at all.

The newest that fit what is known. Not assumed is what is pinned to something that no release is: a commit, a wheel
elsewhere, a release that the history does not have, a variable in place of a version.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from holdfast.catalog.api import FOLDER, packages, released
from holdfast.core.environment.requirement import ProjectRequirements, Requirement
from holdfast.core.environment.versions import admits
from holdfast.core.text.places import NOWHERE
from holdfast.engine.resolve.releases import OUTSIDE
from holdfast.engine.resolve.resolution import Resolution, constraints_of
from holdfast.engine.resolve.resolver_input import ResolverInput
from holdfast.engine.resolve.search import SearchLimitError

GIT: Final = "git+"
FIXED: Final = re.compile(r"[0-9a-f]{7,40}|v?\d[\w.]*|refs/.*")
"""What a repository's address names that stays the same: a commit or a tag."""


def assume_versions(declared: ProjectRequirements, resolution: Resolution, used: Iterable[str]) -> dict[str, str]:
    """Return the versions to assume of the libraries that a program uses and of which no version is known.

    Args:
        declared: What its project declares.
        resolution: What that comes to.
        used: The libraries, by importable name.
    """
    known = packages()
    unknown = [name for name in used if name in known and name not in resolution.newest]
    lacking = [name for name in unknown if _may_be_assumed(declared, name)]
    if not resolution.conflict:
        return _assumed(declared, lacking, resolution)
    # Requirements that exclude one another say which versions there will be each for itself.
    found: dict[str, str] = {}
    for name in lacking:
        found |= _assumed(_only(declared, name), [name], resolution)
    return found


def _only(declared: ProjectRequirements, package: str) -> ProjectRequirements:
    """Return the requirements of one package alone."""
    return replace(declared, requirements=tuple(each for each in declared.requirements if each.package == package))


def _assumed(declared: ProjectRequirements, lacking: Sequence[str], resolution: Resolution) -> dict[str, str]:
    if not lacking:
        return {}
    together = _newest_together(_loosened(declared, lacking), resolution.python, resolution.date)
    return {name: together[name] for name in lacking if name in together}


def _may_be_assumed(declared: ProjectRequirements, package: str) -> bool:
    """True if nothing says which version of a package there will be, or the newest fits what does."""
    requirement = declared.named(package)
    if requirement is None or declared.unsure:
        return not declared.exact
    if requirement.url:
        return _follows_a_branch(requirement.url)
    return not requirement.unknown and any(admits(requirement.specifier, version) for version in released(package))


def _follows_a_branch(url: str) -> bool:
    _, at, revision = url.rpartition("/")[2].partition("@")
    return url.startswith(GIT) and not (at and FIXED.fullmatch(revision.partition("#")[0]))


def _loosened(declared: ProjectRequirements, lacking: Iterable[str]) -> ProjectRequirements:
    """Return the same requirements, where those of repositories are of any release, and what is lacking is requested."""
    lacking = set(lacking)
    kept = () if declared.unsure else declared.requirements
    named = [
        replace(each, url="") if each.package in lacking else each for each in kept if not _is_elsewhere(each, lacking)
    ]
    missing = lacking - {each.package for each in named}
    added = (Requirement(name=name.replace("_", "-"), place=NOWHERE) for name in sorted(missing))
    anywhere = (replace(each, place=NOWHERE) for each in named)
    return replace(declared, requirements=(*anywhere, *added), unsure="", path="", origin="", problems=())


def _is_elsewhere(each: Requirement, lacking: set[str]) -> bool:
    return bool(each.url or each.unknown) and each.package not in lacking


@lru_cache(maxsize=64)  # scripts of one project stand on the same few lines
def _newest_together(declared: ProjectRequirements, python: str, date: str) -> Mapping[str, str]:
    """Return the newest releases that fit together, whatever doubt there is about them; none if none do."""
    puzzle = ResolverInput(
        wishes=constraints_of(declared.requirements, python),
        python=python,
        date=date,
        folder=FOLDER,
        limits=constraints_of(declared.requirements, python, limits=True),
        before=declared.before,
    )
    try:
        found = puzzle.solved()
    except SearchLimitError:
        found = None
    return {name: puzzle.version(name, choice) for name, choice in (found or {}).items() if not choice & OUTSIDE}
