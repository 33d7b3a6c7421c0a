"""From what was asked to what a run starts from. Pure: the same question gives the same plan."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from shlex import quote
from typing import Any

from holdfast.core.finding import Finding, Severity
from holdfast.core.job import Job
from holdfast.core.plan import Plan

# Characters a run's folder may have; the rest of a name becomes a hyphen.
UNFIT = re.compile(r"[^A-Za-z0-9._-]+")


def name_job(job: Job | None, path: str) -> str:
    """Return the job's name: its own, else its file's.

    >>> name_job(None, "jobs/my sft.yaml")
    'my-sft'
    """
    if job and job.name:
        return job.name
    stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    return UNFIT.sub("-", stem).strip("-.") or "job"


def apply_job(plan: Plan, job: Job) -> Plan:
    """Return the plan of a script with what its job asks for around it."""
    return replace(
        plan,
        script_name=f"{plan.name}.py",
        backend=job.where.backend,
        variables=job.environment.variables,
        secrets=tuple(job.environment.secrets),
        timeout_s=job.where.timeout_s,
        options=job.where.options,
    )


def place_plan(plan: Plan, run: str, folder: str) -> Plan:
    """Return the plan of a run, which tells the script its folder and when it started.

    >>> place_plan(Plan(name="a", script="", script_name="a.py", cwd="/"), "a-20261120-154501-x7", "/runs/a").variables
    {'HOLDFAST_RUN': '/runs/a', 'HOLDFAST_STARTED': '20261120-154501'}
    """
    started = "-".join(run.split("-")[-3:-1])
    return replace(plan, variables={**plan.variables, "HOLDFAST_RUN": folder, "HOLDFAST_STARTED": started})


def describe(job: Job | None, target: str) -> dict[str, Any]:
    """Return what a list of runs and a report say was asked."""
    asked: dict[str, Any] = {"job": name_job(job, target), "target": target, "backend": "local"}
    if job:
        asked |= {"method": job.method.value, "model": job.model.path, "dataset": job.dataset.path}
        asked |= {"backend": job.where.backend, "pushed": job.output.push_to}
    return asked


def command_to_try_again(about: Mapping[str, Any], refused_by: str) -> str:
    """Return the command that shows whether a job that was refused is fixed.

    A script is rehearsed for this machine, as `run` does: where a GPU is assumed, it may pass.

    >>> command_to_try_again({"target": "train.py", "backend": "local"}, "rehearsal")
    'holdfast rehearse train.py --set where.backend=local'
    """
    target = str(about.get("target", "job.yaml"))
    if refused_by != "rehearsal":
        return f"holdfast check {quote(target)}"
    here = "" if "method" in about else f" --set where.backend={about.get('backend', 'local')}"
    return f"holdfast rehearse {quote(target)}{here}"


def refusals(findings: Iterable[Finding], despite: Collection[str]) -> list[Finding]:
    """Return the findings that forbid a run: the errors that the user did not consent to."""
    return [
        finding
        for finding in findings
        if finding.rule
        and (finding.severity or finding.rule.severity) is Severity.ERROR
        and finding.rule.code not in despite
    ]
