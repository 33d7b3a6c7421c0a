"""Which versions a project gets: the answer, what is not known of it, and how requirements are made ready for the search."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from holdfast.core.environment.requirement import Requirement
from holdfast.core.environment.versions import admits, bounds, counts, normalized, spelled
from holdfast.engine.resolve.releases import environment_of

USUAL_PYTHON: Final = "3.12"
"""What runs a script that does not say: the Python of the images and notebooks in which most jobs run."""
PYTHONS: Final = ("3.14", "3.13", "3.12", "3.11", "3.10", "3.9", "3.8")
GIT: Final = "git+"
TAGGED: Final = re.compile(
    r"git\+https://github\.com/huggingface/(?P<name>[\w-]+?)(\.git)?@v(?P<version>\d+(\.\d+)+)(#.*)?"
)
"""The address of a release in its own repository: Hugging Face's tags are `v` and the release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """Which versions a project gets, by importable package name.

    Attributes:
        newest: What would be installed today. A package that is not needed, or whose version is not known, is missing.
        lowest: The same with the lowest release that each declared range admits; None if that is no different.
        unknown: Why the version of a package that is needed is not known.
        conflict: Which requirements cannot hold together; None if all can, or it is not known.
        declared: The requirement that names each package.
        python: The Python it holds for.
        date: Of the history: what was released since is not considered.
    """

    newest: Mapping[str, str] = field(default_factory=dict[str, str])
    lowest: Mapping[str, str] | None = None
    unknown: Mapping[str, str] = field(default_factory=dict[str, str])
    conflict: str | None = None
    declared: Mapping[str, Requirement] = field(default_factory=dict[str, Requirement])
    python: str = USUAL_PYTHON
    date: str = ""


class Constraint(NamedTuple):
    """All that is declared of one package.

    Attributes:
        requirements: The requirements that name it and count.
    """

    requirements: tuple[Requirement, ...]

    @property
    def first(self) -> Requirement:
        """The one that names it first."""
        return self.requirements[0]

    @property
    def specifier(self) -> str:
        """The versions that all of them admit."""
        return ",".join(dict.fromkeys(each.specifier for each in self.requirements if each.specifier))

    @property
    def extras(self) -> frozenset[str]:
        """All that any of them asks for."""
        return frozenset[str]().union(*(each.extras for each in self.requirements))

    @property
    def url(self) -> str:
        """Where it is taken from instead of the registry; empty if it is not."""
        return next((each.url for each in self.requirements if each.url), "")

    @property
    def hidden(self) -> str:
        """Why it is not known which version it comes to; empty if one can."""
        return next((each.unknown for each in self.requirements if each.unknown), "")

    @property
    def pin(self) -> str | None:
        """The one version that is requested."""
        return next(iter(self.pins), None)

    @property
    def pins(self) -> tuple[str, ...]:
        """Every one version that is requested; several contradict one another."""
        return tuple(each.pin for each in self.requirements if each.pin)

    @property
    def has_floor(self) -> bool:
        """Whether a lowest version is declared."""
        return bounds(self.specifier)[0] is not None

    @property
    def has_ceiling(self) -> bool:
        """Whether a highest version is declared."""
        return bounds(self.specifier)[1] is not None

    @property
    def follows(self) -> bool:
        """Whether it is the latest of a repository: no commit, tag or branch is named."""
        return self.url.startswith(GIT) and "@" not in self.url.rpartition("/")[2]


def constraints_of(requirements: Iterable[Requirement], python: str, *, limits: bool = False) -> dict[str, Constraint]:
    """Return the declared constraints by importable name, in order; those that do not apply are left out.

    Args:
        requirements: All that are declared.
        python: The Python that runs it.
        limits: Whether those are requested that only limit what something else needs, or all others.
    """
    environment = environment_of(python)
    found: dict[str, Constraint] = {}
    for each in map(_of_release, requirements):
        if each.constraint is limits and counts(each.marker, environment):
            before = found[each.package].requirements if each.package in found else ()
            found[each.package] = Constraint((*before, each))
    return found


def _of_release(each: Requirement) -> Requirement:
    """Return a requirement by the tag of a release as one of that release; any other as it is."""
    tagged = TAGGED.fullmatch(each.url) if each.url else None
    if tagged is None or normalized(tagged["name"]) != each.name:
        return each
    return replace(each, url="", specifier=f"=={tagged['version']}")


def choose_python(specifier: str, usual: str = USUAL_PYTHON) -> str:
    """Return the Python that would run a project: the usual one if the project admits it, else the newest that it does.

    >>> choose_python(">=3.9"), choose_python(">=3.9,<3.11"), choose_python("==3.10.12")
    ('3.12', '3.10', '3.10')
    """
    exact = [spelled(end) for end in bounds(specifier) if end]
    named = [".".join(each.split(".")[:2]) for each in exact if "." in each]
    for python in dict.fromkeys((usual, *PYTHONS, *named)):
        tries = (python, f"{python}.99", *(each for each in exact if each.startswith(f"{python}.")))
        if any(admits(specifier, each) for each in tries):
            return python
    return usual
