"""Making the plan of a run, which contains references instead of secrets."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.adapters.environment.machine import LocalMachine
from holdfast.adapters.targets import Target
from holdfast.app.hub_access import HubAccess, open_outside
from holdfast.app.rendering import script_of
from holdfast.app.run.backends import open_backend
from holdfast.core.backends import capabilities_of
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.estimate import JobEstimate
from holdfast.core.job import Job
from holdfast.core.plan import Plan
from holdfast.core.redact import named_secrets
from holdfast.core.secret_references import SecretReferences, separate_secrets
from holdfast.engine.check.job_facts import process_count
from holdfast.engine.run.launch import apply_job, name_job


def secret_references(target: Target) -> SecretReferences:
    """Return the references that replace the secrets of a target."""
    _, values = separate_secrets(target.job) if target.job else (None, {})
    return SecretReferences(values, named_secrets(target.document.values), os.environ)


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
    """Return what a job needs on the GPUs that it names. What is not known keeps no run from starting."""
    if target.job is None or not names_gpus(target.job):
        return EstimatedJob()
    from holdfast.app.plan.job_facts import job_facts  # which runs without GPUs do not need

    facts = job_facts(target.document, target.job, open_outside(target.document, hub), hub)
    try:
        return EstimatedJob(facts.estimate)
    except (SourceError, UsageError) as error:
        return EstimatedJob(because=error.what)


def names_gpus(job: Job) -> bool:
    """Whether a job says on which GPUs it runs: by its flavor, or on this machine, which has some."""
    backend = capabilities_of(job.where.backend)
    return bool(LocalMachine().fetch().gpus) if backend.is_here else bool(job.where.hardware)


def needs_timeout(plan: Plan) -> bool:
    """Whether a plan has no timeout, and its backend ends runs after a time of its own."""
    return plan.timeout_s is None and capabilities_of(plan.backend).has_flavors


def make_plan(
    target: Target, arguments: Sequence[str], references: SecretReferences, estimate: JobEstimate | None = None
) -> Plan:
    """Return the plan of a run of the target; the estimate gives the timeout, where the job does not and the backend needs one.

    Raises:
        UsageError: Nothing on this machine can run it.
    """
    machine, job = LocalMachine().fetch(), target.job
    plan = Plan(
        name=name_job(job, target.document.path),
        script=script_of(target),
        script_name=target.document.path,
        cwd=str(Path.cwd()),
        arguments=tuple(arguments),
        processes=process_count(machine, job) if job else max(1, len(machine.gpus)),
    )
    plan = references.refer_plan(apply_job(plan, separate_secrets(job)[0]) if job else plan)
    if needs_timeout(plan) and estimate and estimate.timeout_s:
        plan = replace(plan, timeout_s=estimate.timeout_s)
    open_backend(plan, {**os.environ, **references.values})  # only to find out now whether it can run the plan
    return plan
