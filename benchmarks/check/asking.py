"""Asking the rules about one file, in this process, as a user would with nothing installed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast.adapters.declared import find_declared
from holdfast.adapters.targets import Target, read_target
from holdfast.catalog.api import load_history
from holdfast.core.check.finding import Finding, Severity
from holdfast.core.environment.requirement import ProjectRequirements
from holdfast.core.errors import UsageError
from holdfast.engine.check.program import check_program
from holdfast.engine.check.program_facts import VersionContext
from holdfast.engine.check.rule_runner import severity_of
from holdfast.engine.check.suppress import split_suppressed
from holdfast.engine.resolve import Resolution
from holdfast.engine.resolve.cached import resolve_cached
from holdfast.rules import all_rules

NOWHERE: Final = "no such environment"
RULES: Final = tuple(all_rules())
PATCHES: Final = frozenset({"unsloth"})
"""Libraries that replace TRL's classes when they are imported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One finding, as plain data.

    Attributes:
        code: The rule's.
        severity: `error`, `warning` or `info`.
        message: What is wrong.
        line: Where, counted from 1 in the file, or in the cell.
        cell: The notebook's cell, counted from 1; None outside of one.
    """

    code: str
    severity: str
    message: str
    line: int
    cell: int | None

    @property
    def where(self) -> str:
        """The place, for people."""
        return str(self.line) if self.cell is None else f"{self.cell}:{self.line}"


def read(path: Path) -> Target | None:
    """Return a file read; None if it cannot be read as Python."""
    try:
        return read_target(str(path))
    except (UsageError, ExceptionGroup):
        return None


def declared_at(path: Path) -> VersionContext:
    """Return what a file's own project declares, and what that resolves to; no environment is at hand."""
    declared = find_declared(str(path), path.read_text(encoding="utf-8", errors="replace"), environ={}, prefix=NOWHERE)
    return VersionContext(resolution=resolve_cached(declared), declared=declared)


def newest_of_all() -> VersionContext:
    """Return the newest releases that fit together, as if they were installed."""
    return VersionContext(
        resolution=resolve_cached(ProjectRequirements()),
        declared=ProjectRequirements(kind="environment", origin="the newest"),
    )


def exactly(versions: Mapping[str, str], date: str) -> VersionContext:
    """Return exact versions, as if they were installed."""
    resolution = Resolution(newest=dict(versions), date=date)
    return VersionContext(
        resolution=resolution, declared=ProjectRequirements(kind="environment", origin="the tag's release")
    )


def ask(target: Target, version_context: VersionContext) -> list[Said]:
    """Return what the rules find in a file at some versions, without what a comment of its own lets pass."""
    results = check_program(RULES, target.documents, version_context)
    found = [result for result in results if isinstance(result, Finding)]
    standing, _ = split_suppressed(found, target.documents)
    return [_said(finding) for finding in standing]


def patched(target: Target) -> bool:
    """True if a script imports a library that patches TRL."""
    return any(imported.module.partition(".")[0] in PATCHES for imported in target.document.imports)


def errors(said: list[Said]) -> list[Said]:
    """Return the findings that are errors."""
    return [each for each in said if each.severity == Severity.ERROR]


def release_dates(package: str) -> dict[str, str]:
    """Return the day of each release of a package in the catalog, oldest first."""
    history = load_history(package)
    about = history.entry("@") if history else None
    if history is None or about is None:
        return {}
    return dict(zip(history.versions, about["dates"], strict=True))


def _said(finding: Finding) -> Said:
    place = finding.place
    return Said(
        code=finding.rule.code if finding.rule else "",
        severity=severity_of(finding).value,
        message=finding.message,
        line=(place.line if place else None) or 0,
        cell=place.cell if place else None,
    )
