"""The metrics of answers that a training script computes at each evaluation."""

from dataclasses import dataclass
from typing import Final

from holdfast.catalog.metrics import EVALUATED, MEASURED, OF_ANSWERS
from holdfast.core.errors import UsageError
from holdfast.core.job_file.job import Job
from holdfast.core.text.nearest import suggest_one
from holdfast.engine.script.carried_files import NamedFunction, metric_functions

KEY: Final = "samples.metric"
SPREAD: Final = ("fsdp", "zero3")
"""Strategies that spread the weights: one process alone cannot generate."""
SPREADING: Final = ("fsdp", "deepspeed")
"""Arguments of `train` that may spread them too."""
TAKEN: Final = ("loss", "runtime", "samples_per_second", "steps_per_second")
"""Metrics of the trainer itself."""


@dataclass(frozen=True, slots=True)
class TrainingMetric:
    """A metric that is computed while the model is trained.

    Attributes:
        name: Its name, without `eval_`.
        function: The job's own function; None for a metric of holdfast.
    """

    name: str
    function: NamedFunction | None = None


def outline_metrics(job: Job) -> list[TrainingMetric]:
    """Return the metrics that the script computes at each evaluation.

    Raises:
        UsageError: One is not known, or two have the same name, or the job cannot compute any.
    """
    if not job.samples.metric:
        return []
    _require_answers(job)
    own = [TrainingMetric(each.name, each) for each in metric_functions(job)]
    metrics = [TrainingMetric(_known(name)) for name in job.samples.metric if ":" not in name] + own
    names = [each.name for each in metrics]
    if again := next((name for at, name in enumerate(names) if name in (*names[:at], *TAKEN)), None):
        fix = "give your function another name, or name the metric once"
        raise UsageError(f"there is already a metric called {again!r}", where=KEY, fix=fix)
    return metrics


def is_greater_better(job: Job) -> bool | None:
    """Return whether a higher value of the metric that stops the training early is better; None if none does."""
    if job.early_stopping is None:
        return None
    if job.early_stopping.greater_is_better is not None:
        return job.early_stopping.greater_is_better
    return job.early_stopping.metric.removeprefix(EVALUATED) in {name.rpartition(":")[2] for name in job.samples.metric}


def _require_answers(job: Job) -> None:
    """Raise if a job has no right answers to evaluate on, or cannot generate."""
    if not job.evaluates:
        fix = "hold rows out with `dataset.eval_fraction`, or name `dataset.eval_split`"
        raise UsageError("the job has no rows to evaluate on", where=KEY, fix=fix)
    if job.method not in MEASURED:
        fix = "leave it out; `evaluate` measures the final model"
        raise UsageError(f"{job.method} has no right answers to compare the model's with", where=KEY, fix=fix)
    if spreads := spreads_weights(job):
        fix = "leave it out, or train without spreading the weights"
        raise UsageError(
            f"{spreads} may spread the weights over the processes: one alone cannot generate", where=KEY, fix=fix
        )


def spreads_weights(job: Job) -> str:
    """Return what may spread the weights over processes, so that one alone cannot generate; empty if nothing does."""
    given = (f"`train.{name}`" for name in SPREADING if job.train.get(name))
    return f"`where.strategy: {job.where.strategy}`" if job.where.strategy in SPREAD else next(given, "")


def _known(name: str) -> str:
    if name not in OF_ANSWERS:
        fix = f"{suggest_one(name, list(OF_ANSWERS))}; one of your own is `file.py:function`"
        raise UsageError(f"no metric of answers is called {name!r}", where=KEY, fix=fix)
    return name
