"""Jobs whose attempts failed, made without a run."""

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.core.job_file.job import Job, job_values
from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.event import Diagnosed, RunStage
from holdfast.core.run.plan import Plan
from holdfast.core.run.training_event import TrainingStarted
from holdfast.engine.recover.failed_job import FailedJob
from holdfast.engine.script.render import render_script


def make_job(method: str = "sft", **parts: Any) -> Job:
    """Return a small job."""
    rewards = {"rewards": ["accuracy_reward"]} if method in ("grpo", "rloo") else {}
    return Job.model_validate(
        {"method": method, "model": "builtin:tiny-chat", "dataset": "rows.jsonl", **rewards, **parts}
    )


def failed(
    job: Job,
    cause: str,
    *,
    config: Mapping[str, Any] | None = None,
    world_size: int = 1,
    hardware: Sequence[str] = ("NVIDIA A10G",),
    allocator: str = "",
) -> FailedJob:
    """Return a job that failed for a cause, with what its trainer reported."""
    started = TrainingStarted(
        config={**job.train, **(config or {})},
        world_size=world_size,
        hardware=tuple(hardware),
        allocator=allocator,
    )
    attempt = AttemptState(number=1, backend="local", started_s=0, started=started, stage=RunStage.FAILED)
    return FailedJob(job=job, cause=diagnosed(cause), attempt=attempt)


def diagnosed(name: str, **fields: Any) -> Diagnosed:
    """Return a certain cause that needs a change."""
    return Diagnosed(
        **{"at_s": 9, "attempt": 1, "name": name, "title": name, "retry": "after-change", "confidence": 0.9, **fields}
    )


def plan_of(job: Job) -> Plan:
    """Return the plan of a job."""
    return Plan(
        name="job",
        script=render_script(job, name="job", sources={}),
        script_name="job.py",
        cwd="/",
        job=job_values(job),
        attempts=job.recover.attempts,
    )
