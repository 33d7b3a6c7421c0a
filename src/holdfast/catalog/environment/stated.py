"""The requirements and the secrets that a job states, and what the requirements install."""

from collections.abc import Iterable, Mapping
from typing import Any

from holdfast.catalog.environment.packages import REQUIREMENTS, declared_requirements, installed
from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.document import Document


def stated_requirements(job: Document) -> list[str] | None:
    """Return the requirements that a job states, as PEP 508 spells them; None of a program that states none."""
    declared = job.get(REQUIREMENTS, None)
    if isinstance(declared, list):
        return [each for each in declared if isinstance(each, str)]
    return [] if job.kind == "job" else None


def declared_names(job: Document) -> frozenset[str]:
    """Return the names of the packages that a job requires itself."""
    return frozenset(each.name for each in declared_requirements(job).values())


def known_installed(requirements: Iterable[str], versions: Mapping[str, str]) -> frozenset[str]:
    """Return the packages that requirements install, with what those bring along.

    Raises:
        MissingFactError: What one of them brings along is not known.
    """
    packages = installed(requirements, versions)
    if packages is None:
        raise MissingFactError(REQUIREMENTS, "the dependencies of one of them are not known")
    return packages


def passed_secrets(job: Document) -> list[Any]:
    """Return the secrets that a job file passes on, as it names them.

    Raises:
        MissingFactError: The source hides them.
    """
    secrets = job.get("environment.secrets", None)
    return secrets if isinstance(secrets, list) else []
