"""What a project declares that it needs: requirements, each with the place where it stands."""

import re
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Final, Literal

from holdfast.core.environment.versions import normalized
from holdfast.core.text.places import NOWHERE, Place

Origin = Literal[
    "header", "lock", "requirements", "project", "dockerfile", "notebook", "environment", "nothing", "command"
]
EXACT_ORIGINS: Final = frozenset({"lock", "environment"})
"""What these name is installed as it is: nothing is left to resolve, and what they do not name is not there."""

CLAUSE: Final = r"(?:(?:>=|<=|<|>)\s*\d+(?:\.\d+)*|(?:==|!=)\s*\d+(?:\.\d+)*(?:\.\*)?|~=\s*\d+(?:\.\d+)+)"
PLAIN: Final = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
    r"\s*(?:\[\s*(?P<extras>[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*(?:\s*,\s*[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*)*)?\s*\])?"
    rf"\s*(?P<specifier>(?:{CLAUSE}(?:\s*,\s*{CLAUSE})*)?)"
)
"""A requirement by name, extras and versions of numbers, as nearly all are."""
LONG_NUMBER: Final = re.compile(r"\d{100}")
"""Python refuses to make numbers of much more digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One requirement, as one line of it says.

    Attributes:
        name: The name to install, normalized: `huggingface-hub`.
        specifier: The versions it admits, such as `>=4.46,<5`; empty if it admits any.
        extras: Of the package.
        marker: When it counts, such as `python_version < "3.12"`; empty if it always does.
        url: Where it is taken from instead of the registry: a URL, a git repository, a folder.
        unknown: Why it is not known which version it comes to, such as a variable in its place; empty if one can.
        constraint: Whether it only limits the package where something else needs it: `-c constraints.txt`.
        text: As it is written.
        place: Where.
    """

    name: str
    specifier: str = ""
    extras: frozenset[str] = frozenset()
    marker: str = ""
    url: str = ""
    unknown: str = ""
    constraint: bool = False
    text: str = ""
    place: Place = NOWHERE

    @property
    def package(self) -> str:
        """The name under which the history knows it: `huggingface_hub`."""
        return self.name.replace("-", "_")

    @property
    def pin(self) -> str | None:
        """The one version that it admits; None if it admits several, or none is named."""
        text = self.specifier.strip()
        if self.unknown or self.url or not text.startswith("==") or "," in text or "*" in text:
            return None
        return text.lstrip("=").strip()


@dataclass(frozen=True, slots=True)
class RequirementProblem:
    """Something in a declaration that cannot be understood.

    Attributes:
        what: What is wrong, as a sentence without an end.
        place: Where.
        text: The requirement as it is written; empty if it is not about one.
        hides_more: Whether there are requirements that cannot be read.
    """

    what: str
    place: Place
    text: str = field(default="", compare=False)
    hides_more: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRequirements:
    """What a script's project says that it runs with.

    Attributes:
        kind: What says so.
        origin: The same for messages: `the script header`, `requirements.txt`.
        path: The file that says so; empty if no file does.
        requirements: In the order in which they stand.
        python: The Python versions it admits, such as `>=3.11`; empty if it does not say.
        before: The day from which on releases do not count, as `YYYY-MM-DD`; empty if all do.
        problems: What could not be understood.
        unsure: Why it is in doubt that these are the script's own requirements; empty if it is not.
    """

    kind: Origin = "nothing"
    origin: str = "nothing"
    path: str = ""
    requirements: tuple[Requirement, ...] = ()
    python: str = ""
    before: str = ""
    problems: tuple[RequirementProblem, ...] = field(default=())
    unsure: str = ""

    @property
    def exact(self) -> bool:
        """Whether the versions it names are those that are installed."""
        return self.kind in EXACT_ORIGINS

    def named(self, package: str) -> Requirement | None:
        """Return the requirement of a package, by the name of either kind; the first that names it."""
        name = normalized(package)
        return next((each for each in self.requirements if each.name == name), None)


@cache
def parse_requirement(text: str, place: Place = NOWHERE) -> Requirement | RequirementProblem:
    """Return one requirement parsed by PEP 508, or its problem.

    >>> parse_requirement("trl[peft]>=0.12", Place("r.txt")).specifier, parse_requirement("trl>>1", Place("r.txt")).what
    ('>=0.12', "'trl>>1' is not a requirement")
    """
    if LONG_NUMBER.search(text):
        return RequirementProblem(f"{text[:40]!r}… has a number that no version has", place, text)
    found = PLAIN.fullmatch(text.strip())
    if found is None:
        return _parse_unusual(text.strip(), place)
    extras = (each.strip() for each in (found["extras"] or "").split(","))
    return Requirement(
        name=normalized(found["name"]),
        specifier=re.sub(r"\s", "", found["specifier"]),
        extras=frozenset(normalized(each) for each in extras if each),
        text=text.strip(),
        place=place,
    )


@cache
def parse_metadata(text: str) -> Requirement | RequirementProblem:
    """Return one requirement of a released package; its marker is kept as it is, and not judged.

    Older releases put their versions in brackets.

    >>> parse_metadata("numpy (>=1.17) ; extra == 'dev'").specifier
    '>=1.17'
    """
    wanted, _, marker = text.partition(";")
    parsed = parse_requirement(re.sub(r"\s*\(([^()]*)\)\s*$", r"\1", wanted.strip()))
    return replace(parsed, marker=marker.strip()) if isinstance(parsed, Requirement) else parsed


def _parse_unusual(text: str, place: Place) -> Requirement | RequirementProblem:
    """Return the same of one with a URL, a marker, or a version of more than numbers."""
    requirements = import_module("packaging.requirements")  # takes as long to import as all else here
    try:
        parsed = requirements.Requirement(text)
    except requirements.InvalidRequirement:
        return RequirementProblem(f"{text!r} is not a requirement", place, text)
    return Requirement(
        name=normalized(parsed.name),
        specifier=str(parsed.specifier),
        extras=frozenset(map(normalized, parsed.extras)),
        marker=str(parsed.marker or ""),
        url=parsed.url or "",
        text=text,
        place=place,
    )
