"""The plan by which a supervisor decides what follows a fault: that of the job itself, without what costs or reaches anybody."""

from dataclasses import replace
from pathlib import Path

from holdfast.adapters.rehearsal.programs import Program
from holdfast.adapters.targets import read_referred
from holdfast.core.job import job_values, parse_job
from holdfast.core.plan import Plan
from holdfast.core.requested_job import RequestedJob
from holdfast.core.secret_references import separate_secrets
from holdfast.engine.run.launch import apply_job, name_job
from holdfast.engine.script.render import referred_files


def plan_of(program: Program) -> Plan:
    """Return the plan of a program. Nobody is notified, nothing is evaluated, and no secret is needed."""
    job = parse_job(program.job) if program.job else None
    plan = Plan(
        name=name_job(job, program.path),
        script=program.source,
        script_name=program.path,
        cwd=str(Path.cwd()),
        arguments=program.arguments,
    )
    if job is None:
        return plan
    public = separate_secrets(job)[0]
    sources = read_referred(referred_files(public), program.path)
    plan = apply_job(replace(plan, job=job_values(public), sources=sources), public)
    return replace(plan, webhook="", evaluations=(), secrets=(), timeout_s=None, budget_usd=None)


def requested_job_of(program: Program, plan: Plan) -> RequestedJob:
    """Return the request that a run of the program would be made with."""
    method = parse_job(program.job).method.value if program.job else None
    return RequestedJob(job=plan.name, target=program.path, backend=plan.backend, method=method)
