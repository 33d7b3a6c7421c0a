"""The plan of a job with changed settings: the script is rendered anew. Pure: the plan has the job, and the files that it carries."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from holdfast.core.job.document import Remove, Set, ValueEdit, apply_edits
from holdfast.core.job_file.job import Job, job_values
from holdfast.core.run.plan import Plan
from holdfast.core.run.remedy import AppliedRemedy, SettingChange
from holdfast.engine.script.render import render_script


def with_changes(job: Job, changes: Iterable[SettingChange]) -> Job:
    """Return a job with some settings changed.

    >>> job = Job(method="sft", model="tiny", dataset="rows.jsonl", train={"max_length": 64})
    >>> with_changes(job, [SettingChange(key="train.per_device_train_batch_size", before=8, after=4)]).train
    {'max_length': 64, 'per_device_train_batch_size': 4}
    """
    edits: list[ValueEdit] = [Remove(each.key) if each.after is None else Set(each.key, each.after) for each in changes]
    return Job.model_validate(apply_edits(job_values(job), edits))


def remedied_job(plan: Plan, remedies: Iterable[AppliedRemedy]) -> Job | None:
    """Return the job of a plan as the remedies leave it; None for a script of the user's own."""
    if plan.job is None:
        return None
    changes = [change for remedy in remedies for change in remedy.changes]
    return with_changes(Job.model_validate(plan.job), changes)


def can_be_changed(plan: Plan) -> bool:
    """True if a plan's job gives its script: what was rendered with a secret in it, for example, cannot be rendered anew."""
    job = remedied_job(plan, ())
    return job is not None and _script(plan, job) == plan.script


def remedied_plan(plan: Plan, remedies: Iterable[AppliedRemedy]) -> Plan:
    """Return the plan of the attempts that follow some remedies."""
    remedies = tuple(remedies)
    job = remedied_job(plan, remedies)
    if job is None or not remedies:
        return plan
    variables = _variables(plan, job, remedies)
    return replace(plan, script=_script(plan, job), hardware=job.where.hardware, variables=variables)


VARIABLES: Final = "environment.variables."
SKIPPED: Final = "HOLDFAST_SKIP"
"""The variable that tells `payload/runtime.py` which steps to skip."""


def _variables(plan: Plan, job: Job, remedies: Sequence[AppliedRemedy]) -> dict[str, str]:
    """Return the environment variables of a plan as the remedies leave them."""
    changed, own = _changed_variables(remedies), job.environment.variables
    variables = {**plan.variables, **{name: own[name] for name in changed if name in own}}
    if skipped := _skipped_steps(remedies):
        variables[SKIPPED] = skipped
    return {name: value for name, value in variables.items() if name in own or name not in changed}


def _skipped_steps(remedies: Iterable[AppliedRemedy]) -> str:
    return ",".join("{}-{}".format(*remedy.skips) for remedy in remedies if remedy.skips)


def _changed_variables(remedies: Iterable[AppliedRemedy]) -> list[str]:
    keys = [change.key for remedy in remedies for change in remedy.changes]
    return [key.removeprefix(VARIABLES) for key in keys if key.startswith(VARIABLES)]


def _script(plan: Plan, job: Job) -> str:
    return render_script(job, name=plan.name, sources=plan.sources)
