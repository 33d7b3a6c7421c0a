"""Whether the trials of a study write the metric that they are compared by."""

from collections.abc import Iterator
from typing import Final

from holdfast.catalog.metrics import METRICS
from holdfast.core.job_file.job import Job
from holdfast.core.study.study import Study, StudyMetric
from holdfast.core.text.nearest import nearest, suggest_one
from holdfast.core.text.numbers import is_count
from holdfast.engine.units import render_counted

TRAINED: Final = "train_loss"
PREFIX: Final = "eval_"


def is_logged(metric: StudyMetric) -> bool:
    """True if the trainer logs a metric; another one is measured when training has ended."""
    return metric.name == TRAINED or metric.name.startswith(PREFIX)


def unseen_metric(study: Study) -> tuple[str, str] | None:
    """Return why trials cannot be stopped early by the metric, and the fix; None if they can."""
    if study.prune is None or study.metric.name.startswith(PREFIX):
        return None
    what = f"`{study.metric.name}` is not known while a trial runs, so that `prune` has nothing to compare"
    return what, f"use a metric of the trainer's evaluations, such as `{PREFIX}loss`, or remove `prune`"


def unreached_rung(study: Study, job: Job) -> tuple[str, str] | None:
    """Return why a trial is never compared with others while it runs, and the fix; None if it is, or may be."""
    steps = job.train.get("max_steps")
    if study.prune is None or not is_count(steps) or study.prune.min_steps < steps:
        return None
    what = f"`prune.min_steps` is {study.prune.min_steps}, but a trial has {render_counted(steps, 'step')}, so that none is ever pruned"
    return what, f"use a smaller number, such as {max(1, steps // study.prune.factor)}"


def missing_metric(metric: StudyMetric, job: Job) -> tuple[str, str] | None:
    """Return why a job does not write a metric, and the fix; None if it does, or may.

    What a trainer logs at an evaluation depends on its data, so that a name such as `eval_rewards/margins` is taken as it is.
    """
    if metric.name.startswith(PREFIX):
        return None if job.evaluates else _without_rows(metric)
    if metric.name == TRAINED:
        return None
    measured = _measured(job)
    if metric.name in measured or _is_default(metric, job):
        return _without_dataset(metric, job)
    return _unwritten(metric, job, measured)


def _measured(job: Job) -> set[str]:
    """Return the metrics and rewards that the evaluations of a job name."""
    return {name for each in job.evaluate for name in (*each.metric, *each.rewards)}


def _is_default(metric: StudyMetric, job: Job) -> bool:
    """True if a metric may be one that an evaluation gives without naming it."""
    return metric.name in METRICS and _takes_defaults(job)


def _takes_defaults(job: Job) -> bool:
    """True if an evaluation of a job names no metric."""
    return any(not each.metric for each in job.evaluate)


def _without_rows(metric: StudyMetric) -> tuple[str, str]:
    what = f"`{metric.name}` is measured at an evaluation, and the job holds out no rows for one"
    return what, "add `dataset.eval_fraction: 0.1` or `dataset.eval_split` to the job"


def _without_dataset(metric: StudyMetric, job: Job) -> tuple[str, str] | None:
    """Return why a figure is not measured on the dataset that the metric names."""
    names = [name for each in job.evaluate for name in each.dataset]
    wanted = metric.dataset
    if wanted is None or any(name == wanted or name.endswith(f"/{wanted.removeprefix('./')}") for name in names):
        return None
    return f"the job does not evaluate on {wanted!r}", suggest_one(wanted, names)


def _unwritten(metric: StudyMetric, job: Job, measured: set[str]) -> tuple[str, str]:
    if metric.name in METRICS and not job.evaluate:
        what = f"`{metric.name}` is measured by `evaluate:`, which the job does not have"
        return what, "add `evaluate: [{dataset: …}]` to the job"
    known = tuple(_written(job, measured))
    near = nearest(metric.name, known)
    return (
        f"no trial writes a metric called `{metric.name}`",
        f"did you mean `{near}`?" if near else f"use {', '.join(known)}",
    )


def _written(job: Job, measured: set[str]) -> Iterator[str]:
    """Yield the metrics that a job is known to write."""
    yield TRAINED
    if job.evaluates:
        yield "eval_loss"
    yield from sorted(measured)
    if _takes_defaults(job):
        yield from METRICS
