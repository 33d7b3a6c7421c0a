"""Packages as an index names them: which names they let a program import, and what is installed along with them.

`packages.toml` tells of packages that training scripts ask for; what trl, transformers and the others with an API
history bring along is taken from there, release by release.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, Final

from holdfast.catalog.api import load_history
from holdfast.catalog.api.history import History, at
from holdfast.catalog.tables import load_table
from holdfast.core.environment.requirement import Requirement, RequirementProblem, parse_metadata, parse_requirement
from holdfast.core.environment.versions import normalized
from holdfast.core.job.document import Document

REQUIREMENTS: Final = "environment.requirements"
"""Where a Document has what a header or a job file declares."""


@dataclass(frozen=True, slots=True)
class PackageFacts:
    """One package.

    Attributes:
        imports: Top-level names that it lets a program import.
        brings: Packages of this catalog that are installed with it.
        builds_with: What its build imports and does not ask for, so that it cannot be built apart; empty for most.
        hosted: Whether a notebook's host has it before the notebook installs anything.
    """

    imports: tuple[str, ...]
    brings: tuple[str, ...] = ()
    builds_with: str = ""
    hosted: bool = False


@cache
def load_packages() -> Mapping[str, PackageFacts]:
    """Return every package by its normalized name.

    >>> load_packages()["scikit-learn"].imports
    ('sklearn',)
    """
    rows = load_table("packages")
    return {
        name: PackageFacts(
            tuple(row["imports"]), tuple(row.get("brings", ())), row.get("builds_with", ""), row.get("hosted", False)
        )
        for name, row in rows.items()
    }


@cache
def providers(module: str) -> tuple[str, ...]:
    """Return the packages that let a program import a module, by the first part of its path.

    >>> providers("yaml"), providers("my_rewards")
    (('pyyaml',), ())
    """
    top = module.partition(".")[0]
    return tuple(name for name, package in load_packages().items() if top in package.imports)


def declared_requirements(job: Document) -> dict[str, Requirement]:
    """Return the requirements of a header or a job file by their keys, without those that cannot be understood."""
    declared = job.get(REQUIREMENTS, None)
    texts = enumerate(declared if isinstance(declared, list) else ())
    parsed = {f"{REQUIREMENTS}.{index}": parse_requirement(text) for index, text in texts if isinstance(text, str)}
    return {key: each for key, each in parsed.items() if isinstance(each, Requirement)}


def installed(requirements: Iterable[str], versions: Mapping[str, str]) -> frozenset[str] | None:
    """Return the packages that requirements install, with what those bring along; None if it cannot be known.

    Args:
        requirements: As PEP 508 spells them.
        versions: Exact versions by importable name, of packages with an API history.

    >>> sorted(installed(["sentencepiece"], {}) or ())
    ['sentencepiece']
    >>> installed(["some-package-of-mine"], {}) is None
    True
    """
    seen: set[Requirement | RequirementProblem] = set()
    todo = set(map(parse_requirement, requirements))
    while todo:
        along = [_brought(each, versions) for each in todo]
        if None in along:
            return None
        seen |= todo
        todo = set[Requirement | RequirementProblem](chain.from_iterable(filter(None, along))) - seen
    return frozenset(each.name for each in seen if isinstance(each, Requirement))


def _brought(
    requirement: Requirement | RequirementProblem, versions: Mapping[str, str]
) -> tuple[Requirement, ...] | None:
    """Return the dependencies of one package, of the packages of this catalog; None if they are unknown."""
    if isinstance(requirement, RequirementProblem) or requirement.url:
        return None
    package = load_packages().get(requirement.name)
    return _brought_by(package, requirement, versions) if package else None


def _brought_by(
    package: PackageFacts, requirement: Requirement, versions: Mapping[str, str]
) -> tuple[Requirement, ...] | None:
    if history := load_history(requirement.package):
        return tuple(_of_release(history, requirement, versions))
    return None if requirement.extras else tuple(Requirement(name=name) for name in package.brings)


def _of_release(history: History, requirement: Requirement, versions: Mapping[str, str]) -> Iterator[Requirement]:
    """Yield the dependencies of a release; those of every release, where the release is unknown."""
    for text in sorted(_texts_of_release(history, requirement, versions)):
        each = parse_metadata(text)
        package = load_packages().get(each.name) if isinstance(each, Requirement) else None
        if isinstance(each, Requirement) and package:
            # What extras bring is among what those packages are said to bring: `fsspec[http]`.
            yield Requirement(name=each.name, extras=frozenset() if package.brings else each.extras)


def _texts_of_release(history: History, requirement: Requirement, versions: Mapping[str, str]) -> set[str]:
    """Return the dependencies of a release with the extras of a requirement, as its metadata spells them."""
    index = history.index(versions[history.package]) if history.package in versions else None
    needed = _values(history.about.get("requires"), index)
    for table in _values(history.about.get("extras"), index):
        needed += [texts for extra, texts in table.items() if normalized(extra) in requirement.extras]
    return set(chain.from_iterable(needed))


def _values(changes: Sequence[Sequence[Any]] | None, index: int | None) -> list[Any]:
    """Return the value that a list of changes gives at a release; each that it ever gave, where none is named."""
    found = [at(changes, index)] if index is not None else [change[1] for change in changes or ()]
    return [value for value in found if value]
