"""Requirements that cannot be installed together.

## What it does
Resolves the job's requirements from the dependencies of each release in the API history, and reports which
requirements exclude one another.

## Why is this bad
uv and pip find no set of packages to install, and the job ends before its first line. This often happens after one
pin was raised: `trl==1.16.0` requires `datasets>=4.7.0` and Python 3.11, whatever was pinned beside it before.

## Fix safety
There is no automatic fix: only you know which pin to change.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from holdfast.catalog.environment.packages import REQUIREMENTS
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


class ResolvedVersions(Protocol):
    """The versions that a resolution gives."""

    @property
    def conflict(self) -> str | None:
        """Which requirements exclude one another."""
        ...

    @property
    def declared(self) -> Mapping[str, Any]:
        """The requirement that names each package, with its place."""
        ...


def check(job: Document, resolution: ResolvedVersions) -> Iterator[Finding]:
    """Report a conflict of requirements at the first one that is part of it."""
    if resolution.conflict:
        texts = [each for each in resolution.declared.values() if f"`{each.text}`" in resolution.conflict]
        place = texts[0].place if texts and texts[0].place.line else None
        yield Finding(REQUIREMENTS, resolution.conflict, place=place or job.place(REQUIREMENTS))


@dataclass(frozen=True)
class ResolutionExample:
    """A resolution as the examples have it."""

    conflict: str | None = None
    declared: Mapping[str, Any] = field(default_factory=dict[str, Any])


SCRIPT = """# /// script
# dependencies = ["trl==1.16.0", "datasets==3.0.0"]
# ///
from trl import SFTTrainer
"""
CONFLICT = ResolutionExample(
    "`trl==1.16.0` and `datasets==3.0.0` cannot be installed together: trl 1.16.0 needs datasets>=4.7.0"
)

RULE = Rule(
    code="DEP109",
    name="unsatisfiable-requirements",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="The metadata of every release in the API history. Tried: uv 0.13.9 finds no solution for the example either.",
    bad=(Case(script=SCRIPT, facts={"resolution": CONFLICT}, at=REQUIREMENTS),),
    good=(Case(script=SCRIPT.replace("==3.0.0", ">=4.7"), facts={"resolution": ResolutionExample()}),),
    kinds=ANY_KIND,
)
