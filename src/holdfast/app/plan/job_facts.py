"""What is known of a job file's model and data."""

from collections.abc import Callable

from holdfast.adapters.environment.machine import LocalMachine
from holdfast.adapters.local.datasets import LocalDatasets
from holdfast.adapters.local.models import LocalModels
from holdfast.app.hub_access import HubAccess, job_folder
from holdfast.app.plan.measuring import measure_trained_rows
from holdfast.catalog.calls.train_arguments import stack_api
from holdfast.core.job.document import Document
from holdfast.core.job_file.job import Job
from holdfast.core.plan.hardware import Hardware
from holdfast.core.rehearse.rehearsed_training import RehearsedTraining
from holdfast.engine.check.hub_facts import ReferenceResolver
from holdfast.engine.check.job_facts import FactSources, JobFacts


def job_facts(
    document: Document,
    job: Job,
    outside: ReferenceResolver,
    hub: HubAccess,
    rehearsed: Callable[[], RehearsedTraining | None] | None = None,
    own_hardware: Callable[[], tuple[Hardware, ...]] = tuple,
) -> JobFacts:
    """Return the facts of a job file, looked up when they are requested."""
    folder = job_folder(document, hub)
    sources = FactSources(
        datasets=LocalDatasets(folder),
        machines=LocalMachine(),
        models=LocalModels(folder),
        outside=outside,
        row_lengths=lambda: measure_trained_rows(document, stack_api(), outside, hub),
        rehearsed=rehearsed,
        own_hardware=own_hardware,
    )
    return JobFacts(job, sources, document)
