"""Making the plan of a run, which contains references instead of secrets."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from holdfast.adapters.environment.machine import LocalMachine
from holdfast.adapters.storage.resolved import with_absolute_paths
from holdfast.adapters.targets import Target, read_referred
from holdfast.app.run.backends import open_backend, require_backend
from holdfast.app.run.estimating import needs_timeout
from holdfast.app.run.notifying import check_webhook
from holdfast.app.run.own_files import with_own_files
from holdfast.app.run.placement import Placement
from holdfast.app.targets.rendering import script_of
from holdfast.catalog.hub.flavors import load_flavors, with_catalog_price
from holdfast.core.check.facts import Machine
from holdfast.core.errors import Spot, UsageError
from holdfast.core.job.document import Document
from holdfast.core.job_file.job import job_values
from holdfast.core.job_file.secret_references import SecretReferences, separate_secrets
from holdfast.core.plan.estimate import JobEstimate
from holdfast.core.plan.hardware import PriceList
from holdfast.core.run.backends import capabilities_of
from holdfast.core.run.plan import Plan
from holdfast.core.text.redact import argument_secrets, named_secrets
from holdfast.engine.check.job_facts import process_count
from holdfast.engine.run.naming import name_job
from holdfast.engine.run.plans import apply_job, apply_place
from holdfast.engine.script.render import referred_files


def secret_references(target: Target, arguments: Sequence[str]) -> SecretReferences:
    """Return the references that replace the secrets of a target, and of the arguments of a script."""
    _, values = separate_secrets(target.job) if target.job else (None, {})
    settings = (*named_secrets(target.document.values), *argument_secrets(arguments))
    return SecretReferences(values, settings, os.environ)


def make_plan(
    target: Target,
    arguments: Sequence[str],
    references: SecretReferences,
    placement: Placement,
    estimate: JobEstimate | None,
    prices: PriceList | None,
) -> Plan:
    """Return the plan of a run of the target.

    Args:
        target: The job.
        arguments: The script's own arguments.
        references: The references that replace its secrets.
        placement: Where it runs; not used for a job file, which says so itself.
        estimate: What it needs, for a timeout where the job has none and the backend needs one.
        prices: What the hardware of its backend costs; None if that has no prices.

    Raises:
        UsageError: Nothing on this machine can run it, or its budget cannot be kept.
    """
    machine, job = LocalMachine().fetch(), target.job
    plan = Plan(
        name=name_job(job, target.document.path),
        script=script_of(target),
        script_name=target.document.path,
        cwd=str(Path.cwd()),
        arguments=tuple(arguments),
        processes=process_count(machine, job) if job else _processes(machine, placement),
    )
    plan = references.refer_plan(_placed(plan, target, placement))
    environment = {**os.environ, **references.values}
    check_webhook(plan.webhook, environment)
    if needs_timeout(plan) and estimate and estimate.timeout_s:
        plan = replace(plan, timeout_s=estimate.timeout_s)
    if prices:
        plan = _with_prices(plan, prices, target.document)
    plan = _carrying_files(plan, target, arguments)
    open_backend(plan, environment)  # only to find out now whether it can run the plan
    return plan


def _placed(plan: Plan, target: Target, placement: Placement) -> Plan:
    """Return a plan with the place and the limits of a job file, or of a script's placement."""
    where = placement.where
    if target.job:
        public = separate_secrets(target.job)[0]
        sources = read_referred(referred_files(public), target.document.path)
        plan = replace(plan, job=job_values(public), sources=sources)
        return apply_job(plan, with_absolute_paths(public, target.document.path))
    if placement.is_elsewhere:
        return apply_place(plan, where, placement.environment)
    return replace(plan, timeout_s=where.timeout_s, stall_timeout_s=where.stall_timeout_s)


def _carrying_files(plan: Plan, target: Target, arguments: Sequence[str]) -> Plan:
    """Return a plan with the files that its backend has to send to the job's machine."""
    if not capabilities_of(plan.backend).carries_files:
        return plan
    return with_own_files(plan, target, arguments, require_backend(plan.backend).mounted(plan.options))


def _with_prices(plan: Plan, prices: PriceList, document: Document) -> Plan:
    """Return a plan with the prices of the day; if its own hardware has none, with that of the catalog.

    Raises:
        UsageError: The plan has a budget, and its hardware has no price.
    """
    name = plan.hardware
    listed = with_catalog_price(prices.usd_per_hour, name or "")
    if name and plan.budget_usd is not None and name not in listed:
        what = f"`where.budget_usd` cannot be kept: the price of `{name}` is not known"
        fix = "name hardware that `hf jobs hardware` lists with a price, or remove `where.budget_usd`"
        raise UsageError(what, where=Spot.of(document.place("where.budget_usd")), fix=fix)
    return replace(plan, usd_per_hour=listed)


def _processes(machine: Machine, placement: Placement) -> int:
    """Return how many processes a script has: one for each GPU of the machine that it runs on, as far as that is known."""
    if not placement.is_elsewhere:
        return max(1, len(machine.gpus))
    flavor = load_flavors().get(placement.where.hardware or "")
    auto = max(1, len(flavor.gpus) if flavor else 1)
    return auto if placement.where.processes == "auto" else placement.where.processes
