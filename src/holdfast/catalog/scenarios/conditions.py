"""Whether a setting of a scenario fits a job, and which value follows from it. What is not known of the data counts as fitting."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, floor
from typing import Any, Final

from holdfast.catalog.scenarios import JobCondition, ScenarioSetting
from holdfast.core.job.methods import Method
from holdfast.core.job_file.job import Job

MINUTE_S: Final = 60.0
MOST: Final = 0.1
"""The largest share of the steps between two saves: the one that a job file's script has by default."""
SHARES: Final = 10_000
"""Shares have four decimal places."""
LEAST: Final = 0.01
"""The smallest: more often, saving and evaluating take most of the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """The value that a setting gets in a job, or the reason why it does not fit.

    Attributes:
        value: The value.
        because: Why it does not fit; empty if it does.
    """

    value: Any = None
    because: str = ""


def fit_setting(setting: ScenarioSetting, job: Job, rows: int | None) -> Fitting:
    """Return the value of a setting in a job, or why it does not fit.

    Args:
        setting: The setting.
        job: The job, with what the scenario has set before.
        rows: The number of rows of the training data; None if it is not known.
    """
    if setting.methods and job.method.value not in setting.methods:
        return Fitting(because=f"it is for {', '.join(setting.methods)}")
    if refused := next((CONDITIONS[name][1] for name in setting.when if not CONDITIONS[name][0](job)), ""):
        return Fitting(because=refused)
    if setting.rule == "save-interval":
        return Fitting(value=_save_interval(setting.value, job))
    return Fitting(value=setting.value, because=_missing_rows(setting, job, rows))


def _save_interval(minutes: float, job: Job) -> Any:
    """Return the interval of saves and evaluations, which are at the same steps: in steps, or as a share of all of them.

    A share divides the training into equal parts of at most some minutes, if the training uses up its timeout.
    """
    if own := job.train.get("save_steps") or job.train.get("eval_steps"):
        return own
    if job.where.timeout_s is None:
        return MOST
    parts = ceil(job.where.timeout_s / (minutes * MINUTE_S))
    return min(MOST, max(LEAST, floor(SHARES / parts) / SHARES))


def _missing_rows(setting: ScenarioSetting, job: Job, rows: int | None) -> str:
    """Return why there are too few rows for a setting; empty if there are enough, or if it is not known how many there are."""
    if rows is None:
        return ""
    if setting.key == "dataset.rows" and rows <= setting.value:
        return f"the dataset has only {rows} rows"
    used = min(rows, job.dataset.rows or rows)
    if setting.key == "dataset.eval_fraction" and not 0 < round(used * setting.value) < used:
        return f"of {used} rows, {setting.value} is none"
    return ""


def _writes_text(job: Job) -> bool:
    return job.method is not Method.REWARD


def _recovers_memory(job: Job) -> bool:
    return "checkpointing" in job.recover.allow and job.recover.attempts > 1


CONDITIONS: Final[Mapping[JobCondition, tuple[Callable[[Job], bool], str]]] = {
    "evaluates": (lambda job: job.evaluates, "the job has no rows to evaluate on"),
    "reads-a-table": (lambda job: not job.dataset.streaming, "the data is streamed"),
    "writes-text": (_writes_text, "a reward model writes no text"),
    "unsharded": (lambda job: job.where.strategy == "ddp", "the model is shared out among processes to save memory"),
    "recovers-memory": (
        _recovers_memory,
        "`recover` does not permit to turn checkpointing on again when memory runs out",
    ),
}
"""What decides each condition, and the reason to give if it is not met."""
