"""What a job is estimated to need, before its run starts."""

from dataclasses import dataclass
from functools import partial

from holdfast.adapters.environment.machine import LocalMachine
from holdfast.adapters.targets import Target
from holdfast.app.hub_access import HubAccess, open_outside
from holdfast.app.own_prices import own_hardware_of
from holdfast.app.plan.job_facts import job_facts
from holdfast.app.rehearsed import find_rehearsed_training
from holdfast.app.targets.programs import program_of_job
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.job.document import Document
from holdfast.core.job_file.job import Job
from holdfast.core.plan.estimate import Interval, JobEstimate
from holdfast.core.plan.hardware import PriceList
from holdfast.core.run.backends import capabilities_of
from holdfast.core.run.plan import Plan
from holdfast.engine.check.job_facts import JobFacts
from holdfast.engine.plan.hardware import prices_of


@dataclass(frozen=True, slots=True)
class EstimatedJob:
    """What is known, before a run, of what its job needs.

    Attributes:
        estimate: The estimate; None if the job names no GPU, or it is not known.
        because: Why it is not known; empty if it is, or there is nothing to know.
    """

    estimate: JobEstimate | None = None
    because: str = ""


def estimate_job(target: Target, hub: HubAccess) -> EstimatedJob:
    """Return the estimate of a job on the GPUs that it names. A job without an estimate may run."""
    if target.job is None or not _names_hardware(target.job):
        return EstimatedJob()
    try:
        return EstimatedJob(_facts(target, target.job, hub).estimate)
    except (SourceError, UsageError) as error:
        return EstimatedJob(because=error.what)


def estimate_seconds(target: Target, hub: HubAccess) -> tuple[Interval | None, str]:
    """The time that a job takes on its hardware, or on the processors of this machine; None with the reason if that is not known."""
    if target.job is None or _names_hardware(target.job) or not capabilities_of(target.job.where.backend).is_here:
        planned = estimate_job(target, hub)
        return planned.estimate.seconds if planned.estimate else None, planned.because
    try:
        planned_here = _facts(target, target.job, hub).plan_here()
    except (SourceError, UsageError) as error:
        return None, error.what
    return planned_here.seconds, planned_here.no_time


def _facts(target: Target, job: Job, hub: HubAccess) -> JobFacts:
    program, document = program_of_job(target, job), target.document
    return job_facts(
        document,
        job,
        open_outside(document, hub),
        hub,
        rehearsed=lambda: find_rehearsed_training(program),
        own_hardware=partial(own_hardware_of, document.path),
    )


def find_prices(document: Document, backend: str, hub: HubAccess) -> PriceList | None:
    """Return what the hardware of a backend costs; None if it has no prices."""
    if not capabilities_of(backend).has_flavors:
        return None
    return prices_of(open_outside(document, hub).hub.job_prices)


def _names_hardware(job: Job) -> bool:
    """True if a job may run on GPUs, as far as is known before the tables of models are imported."""
    backend = capabilities_of(job.where.backend)
    return bool(LocalMachine().fetch().gpus) if backend.is_here else bool(job.where.hardware)


def needs_timeout(plan: Plan) -> bool:
    """Whether a plan has no timeout, and its backend ends runs after a time of its own."""
    return plan.timeout_s is None and capabilities_of(plan.backend).has_flavors
