"""The scenario of a job, `for`: the settings that follow from it, in the job's document."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from msgspec import structs

from holdfast.adapters.local.datasets import LocalDatasets
from holdfast.catalog.calls.train_arguments import stack_api
from holdfast.catalog.scenarios.choosing import choose_settings
from holdfast.core.check.finding import Finding, MissingFactError, Rule, Severity
from holdfast.core.check.strict_document import StrictDocument
from holdfast.core.errors import SourceError
from holdfast.core.job.document import Document
from holdfast.core.job.scenario import ScenarioChoices
from holdfast.core.job_file.job import Job
from holdfast.rules import rules_of_jobs

FACTS: Final = frozenset({"job", "api"})
"""What a rule may need that is asked about a scenario's settings: nothing that has to be looked up."""


def scenario_settings(document: Document, job: Job, in_file: Any) -> tuple[Document, ScenarioChoices | None]:
    """Return the document of a job with the settings of its scenario, and which these are.

    Args:
        document: The job's, with all overrides in it.
        job: The job.
        in_file: The scenario that the job file names, before any override.
    """
    found = choose_settings(document, job, rows=_count_rows(job), objections=lambda each: tuple(_objections(each)))
    if found is None:
        return document, None
    changed, choices = found
    overrides = in_file if isinstance(in_file, str) and in_file != choices.name else ""
    return changed, structs.replace(choices, overrides=overrides)


def _objections(document: Document) -> Iterator[str]:
    """Yield what `check` would object to in a job alone, whatever its data and its model are."""
    strict = StrictDocument.of(document)
    for rule in rules_of_jobs():
        if rule.needs <= FACTS and document.kind in rule.kinds:
            yield from (f"{rule.code}: {each.message}" for each in _findings(rule, strict))


def _findings(rule: Rule, document: Document) -> Iterator[Finding]:
    facts = {"job": document, "api": stack_api()}
    with suppress(MissingFactError):
        for finding in rule.check(**{name: facts[name] for name in rule.needs}):
            if (finding.severity or rule.severity) is not Severity.INFO:
                yield finding


def _count_rows(job: Job) -> int | None:
    """Return the number of rows of a job's training data; None if it is not on this machine, or cannot be read."""
    with suppress(SourceError):
        return LocalDatasets().fetch(job.dataset, job.method).rows
    return None
