"""The scenario of a job, `for`: the settings that follow from it, in the job's document."""

from contextlib import suppress
from typing import Any

from holdfast.core.document import Document
from holdfast.core.errors import SourceError
from holdfast.core.job import Job
from holdfast.core.scenario import ScenarioChoices


def scenario_settings(document: Document, job: Job, in_file: Any) -> tuple[Document, ScenarioChoices | None]:
    """Return the document of a job with the settings of its scenario, and which these are.

    Args:
        document: The job's, with all overrides in it.
        job: The job.
        in_file: The scenario that the job file names, before any override.
    """
    from msgspec import structs

    from holdfast.catalog.scenarios.choosing import choose_settings  # of the libraries' API, which few jobs need here

    found = choose_settings(document, job, rows=_count_rows(job))
    if found is None:
        return document, None
    changed, choices = found
    overrides = in_file if isinstance(in_file, str) and in_file != choices.name else ""
    return changed, structs.replace(choices, overrides=overrides)


def _count_rows(job: Job) -> int | None:
    """Return the number of rows of a job's training data; None if it is not on this machine, or cannot be read."""
    from holdfast.adapters.local.datasets import LocalDatasets

    with suppress(SourceError):
        return LocalDatasets().fetch(job.dataset, job.method).rows
    return None
