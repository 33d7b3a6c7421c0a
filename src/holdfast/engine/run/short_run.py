"""A short run of a job: a few steps of it on the same place, before all of it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from holdfast.core.job_file.job import Evaluation, Job

STEPS: Final = 4
EVERY: Final = 2
"""Each so many steps are saved, and evaluated where the job evaluates."""
ROWS: Final = 16
"""Rows of each dataset that the final model is evaluated on."""
SUFFIX: Final = "-short"


def short_run_overrides(job: Job, name: str) -> tuple[str, ...]:
    """Return the overrides of a job's keys that make a short run of it, as `KEY=VALUE`.

    Everything that may fail late comes early: evaluations, checkpoints, the final model, its evaluation and its push.
    The push goes to a private repository of its own. What the job demands of its figures is not demanded of a short run.

    Args:
        job: The job.
        name: Its name.
    """
    return tuple(f"{key}={json.dumps(value)}" for key, value in _values(job, name))


def _values(job: Job, name: str) -> Iterator[tuple[str, Any]]:
    yield "name", f"{name}{SUFFIX}"
    for key, value in _schedule(job).items():
        yield f"train.{key}", value
    if job.output.push_to:
        yield "output.push_to", f"{job.output.push_to}{SUFFIX}"
        yield "output.private", True
    if job.evaluate:
        yield "evaluate", [_few_rows(each) for each in job.evaluate]


def _schedule(job: Job) -> Mapping[str, Any]:
    steps = job.train.get("max_steps")
    schedule: dict[str, Any] = {
        "max_steps": min(steps, STEPS) if isinstance(steps, int) and steps > 0 else STEPS,
        "save_strategy": "steps",
        "save_steps": EVERY,
        "logging_steps": 1,
    }
    if job.evaluates and job.train.get("eval_strategy") != "no":
        schedule |= {"eval_strategy": "steps", "eval_steps": EVERY}
    return schedule


def _few_rows(evaluation: Evaluation) -> Mapping[str, Any]:
    given: dict[str, Any] = evaluation.model_dump(mode="json", exclude_defaults=True)
    few = {key: value for key, value in given.items() if key not in ("at_least", "not_worse_than")}
    if evaluation.task:
        few |= {"limit": min(evaluation.limit or ROWS, ROWS)}
    return few | {"rows": min(evaluation.rows or ROWS, ROWS)}
