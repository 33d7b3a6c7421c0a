"""Making the plan of a run, without input or output: the same job always gives the same plan."""

from dataclasses import replace

from msgspec import convert, structs

from holdfast.core.job.scenario import ScenarioChoices
from holdfast.core.job_file.job import Environment, Job, Where
from holdfast.core.run.backends import DEFAULT_BACKEND
from holdfast.core.run.plan import Plan, PlannedEvaluation, RunRequest
from holdfast.core.run.requested_job import RequestedJob
from holdfast.engine.recover.spoilt_steps import ends_spikes
from holdfast.engine.run.naming import name_job


def apply_job(plan: Plan, job: Job) -> Plan:
    """Return the plan of a script, completed with its job's settings: backend, hardware, variables, secrets, limits."""
    placed = apply_place(plan, job.where, job.environment)
    notified = replace(placed, webhook=job.notify.webhook or "", webhook_format=job.notify.format)
    after = replace(notified, evaluations=planned_evaluations(job), gguf=tuple(job.output.gguf))
    after = replace(after, export_on=job.output.export_on or "")
    watched = {"HOLDFAST_SPIKES": "1"} if ends_spikes(job) else {}
    variables = {**after.variables, **watched}
    return replace(after, script_name=f"{plan.name}.py", attempts=job.recover.attempts, variables=variables)


def planned_evaluations(job: Job) -> tuple[PlannedEvaluation, ...]:
    """Return the evaluations of the final model of a job whose paths are absolute."""
    return tuple(convert({**each.model_dump(), "seed": job.seed}, PlannedEvaluation) for each in job.evaluate)


def apply_place(plan: Plan, where: Where, environment: Environment) -> Plan:
    """Return the plan of a script that runs in a place."""
    return replace(
        plan,
        backend=where.backend,
        hardware=where.hardware,
        variables=environment.variables,
        secrets=tuple(environment.secrets),
        timeout_s=where.timeout_s,
        stall_timeout_s=where.stall_timeout_s,
        budget_usd=where.budget_usd,
        options=where.options,
    )


def place_plan(plan: Plan, run: str, folder: str, key: str) -> Plan:
    """Return the plan of a run, which tells the script its folder and when it started, and which has the run's own key.

    >>> place_plan(Plan(name="a", script="", script_name="a.py", cwd="/"), "a-20261120-154501-x7", "/runs/a", "k").variables
    {'HOLDFAST_RUN': '/runs/a', 'HOLDFAST_STARTED': '20261120-154501'}
    """
    started = "-".join(run.split("-")[-3:-1])
    variables = {**plan.variables, "HOLDFAST_RUN": folder, "HOLDFAST_STARTED": started}
    return replace(plan, variables=variables, key=key)


def requested_job(
    job: Job | None,
    request: RunRequest,
    path: str,
    *,
    backend: str | None,
    runs: str | None,
    scenario: ScenarioChoices | None,
) -> RequestedJob:
    """Describe a request.

    Args:
        job: The job; None for a script.
        request: The request.
        path: The job file or script, as it was named; of one that lies elsewhere, the copy.
        backend: The backend that was planned for; None if there is no plan.
        runs: The runs folder, if commands have to name it.
        scenario: What the scenario of the job changed in it.
    """
    described = RequestedJob(
        job=name_job(job, path),
        target=request.address or path,
        backend=backend or (job.where.backend if job else DEFAULT_BACKEND.name),
        sets=request.sets,
        arguments=request.arguments,
        runs=runs,
        study=request.study,
        trial=request.trial,
    )
    if not job:
        return described
    return structs.replace(
        described,
        method=job.method.value,
        model=job.model.path,
        dataset=job.dataset.path,
        pushed=job.output.push_to,
        scenario=scenario,
    )
