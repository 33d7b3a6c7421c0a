"""Packages as an index names them: which names they let a program import, and what is installed along with them.

`packages.toml` tells of packages that training scripts ask for; what trl, transformers and the others with an API
history bring along is taken from there, release by release.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from holdfast.catalog.api import load_history
from holdfast.catalog.api.history import at
from holdfast.catalog.tables import load_table
from holdfast.core.versions import normalized

REQUIREMENT: Final = re.compile(
    r"\s*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[(?P<extras>[^\]]*)\])?\s*(?P<rest>(?:[<>=!~@(][^;]*?)?)\s*(?:;.*)?"
)
"""A requirement as PEP 508 spells it, as far as this module reads it; `packaging` too takes a name that ends in `_`."""


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


@dataclass(frozen=True, slots=True)
class PackageRequest:
    """What one requirement asks for.

    Attributes:
        name: Normalized name of the package; empty where the text is no requirement by a name.
        extras: Its extras, normalized.
        bounds: What follows, such as `>=1.0,<2` or `@ git+https://…`; empty where any release will do.
    """

    name: str
    extras: tuple[str, ...] = ()
    bounds: str = ""

    @property
    def address(self) -> str:
        """Where it is to be had instead of from an index; empty for most."""
        return self.bounds.removeprefix("@").strip() if self.bounds.startswith("@") else ""

    @property
    def pin(self) -> str:
        """The one release it asks for; empty where it admits several."""
        found = re.fullmatch(r"={2,3}\s*([^*,\s]+)", self.bounds)
        return found[1] if found else ""


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


@cache
def parse_requirement(text: str) -> PackageRequest:
    """Return the package that a requirement names, with its specifier.

    >>> parse_requirement("Transformers[torch]>=4.56,<5 ; sys_platform == 'linux'")
    PackageRequest(name='transformers', extras=('torch',), bounds='>=4.56,<5')
    >>> parse_requirement("trl @ git+https://example.org/trl").address
    'git+https://example.org/trl'
    """
    found = REQUIREMENT.fullmatch(text.strip())
    if not found:
        return PackageRequest("")
    extras = tuple(normalized(extra.strip()) for extra in (found["extras"] or "").split(",") if extra.strip())
    return PackageRequest(normalized(found["name"]), extras, found["rest"].strip("() "))


def installed(requirements: Iterable[str], versions: Mapping[str, str]) -> frozenset[str] | None:
    """Return the packages that requirements install, with what those bring along; None where it cannot be known.

    Args:
        requirements: As PEP 508 spells them.
        versions: Exact versions by importable name, of packages with an API history.

    >>> sorted(installed(["sentencepiece"], {}) or ())
    ['sentencepiece']
    >>> installed(["some-package-of-mine"], {}) is None
    True
    """
    seen: set[PackageRequest] = set()
    todo = {parse_requirement(text) for text in requirements}
    while todo:
        seen |= todo
        along = [_brought(asked, versions) for asked in todo]
        if any(asked.address for asked in todo) or None in along:
            return None
        todo = {each for brought in along for each in brought or ()} - seen
    return frozenset(asked.name for asked in seen)


def _brought(request: PackageRequest, versions: Mapping[str, str]) -> tuple[PackageRequest, ...] | None:
    """Return the dependencies of one package, of the packages of this catalog; None where they are unknown."""
    package = load_packages().get(request.name)
    if package is None:
        return None
    if load_history(request.name.replace("-", "_")):
        return tuple(_of_release(request, versions))
    return None if request.extras else tuple(map(PackageRequest, package.brings))


def _of_release(request: PackageRequest, versions: Mapping[str, str]) -> Iterator[PackageRequest]:
    """Yield the dependencies of a release; those of every release, where the release is unknown."""
    history = load_history(request.name.replace("-", "_"))
    about = history.about if history else {}
    index = history.index(versions[history.package]) if history and history.package in versions else None
    needed = [*_values(about.get("requires"), index)]
    for table in _values(about.get("extras"), index):
        needed += [texts for extra, texts in table.items() if normalized(extra) in request.extras]
    for text in sorted({text for texts in needed for text in texts}):
        each = parse_requirement(text)
        if package := load_packages().get(each.name):
            # What extras bring is among what those packages are said to bring: `fsspec[http]`.
            yield PackageRequest(each.name, () if package.brings else each.extras)


def _values(changes: Sequence[Sequence[Any]] | None, index: int | None) -> list[Any]:
    """Return the value that a list of changes gives at a release; each that it ever gave, where none is named."""
    found = [at(changes, index)] if index is not None else [change[1] for change in changes or ()]
    return [value for value in found if value]
