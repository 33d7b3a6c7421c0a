"""The settings of a run, those that matter first."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.core.job.document import Document
from holdfast.core.run.requested_job import RequestedJob
from holdfast.core.run.training_event import TrainingStarted
from holdfast.engine.report.rows import describe_rows

REQUESTED = (
    ("dataset.rows", "rows drawn"),
    ("dataset.sample", "chosen by"),
    ("dataset.by", "by the column"),
    ("dataset.mix", "mixed with"),
    ("dataset.weight", "weight in the mixture"),
    ("dataset.eval_fraction", "held out for evaluation"),
    ("dataset.eval_split", "evaluated on split"),
    ("peft", "LoRA"),
    ("quantization", "quantization"),
    ("rewards", "reward functions"),
    ("early_stopping", "early stopping"),
    ("where.timeout", "timeout"),
    ("where.stall_timeout", "longest silence"),
    ("output.push_to", "pushed to"),
    ("seed", "seed"),
)
SPACES = "https://huggingface.co/spaces/{}"
USUAL = (
    "learning_rate",
    "lr_scheduler_type",
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "max_length",
    "bf16",
    "gradient_checkpointing",
)
"""Arguments of the trainer that are shown whether or not the job sets them."""


@dataclass(frozen=True, slots=True)
class RequestedSetting:
    """A setting of a run.

    Attributes:
        default: Whether the job does not set it, so that the trainer chose.
    """

    name: str
    value: str
    default: bool = False


def list_settings(job: Document | None, about: RequestedJob, start: TrainingStarted) -> Iterator[RequestedSetting]:
    """Yield the requested settings and, where they matter, the trainer's choices for those not requested.

    Args:
        job: The job as it ran, or None for a user's own script.
        about: The requested job.
        start: What the training process said when training began.
    """
    named = {
        "method": about.method,
        "model": about.model,
        "dataset": about.dataset,
        "read from": about.target,
        "backend": about.backend,
        "for": about.scenario.describe() if about.scenario else None,
        "dashboard": _dashboard(job),
    }
    for name, value in named.items():
        if value:
            yield RequestedSetting(name, spell_value(value))
    yield from _job_settings(job) if job else ()
    yield from _trained_rows(start.data)
    yield from _trainer_settings(job.get("train", {}) if job else {}, start)


def _dashboard(job: Document | None) -> str | None:
    """Return the address of the Space that shows the metrics; None if there is none."""
    space = job.get("track.space", None) if job and job.get("track.with", None) == "trackio" else None
    return SPACES.format(space) if space else None


def _trainer_settings(train: Mapping[str, Any], start: TrainingStarted) -> Iterator[RequestedSetting]:
    """Yield the arguments of the trainer: those that readers look for first, then the others that the job sets."""
    config = start.config
    if batch := _batch(config, start.world_size):
        yield batch
    for name in dict.fromkeys((*USUAL, *train)):
        if name in train or config.get(name):
            yield RequestedSetting(name, spell_value(train.get(name, config.get(name))), default=name not in train)


def _trained_rows(account: Mapping[str, Any]) -> Iterator[RequestedSetting]:
    """Yield which rows were trained on, and their hash."""
    if account:
        yield RequestedSetting("rows", describe_rows(account))
    if isinstance(digest := account.get("sha256"), str):
        yield RequestedSetting("hash of the rows", digest)


def _job_settings(job: Document) -> Iterator[RequestedSetting]:
    for key, name in REQUESTED:
        if value := job.get(key):
            yield RequestedSetting(name, spell_value(value))


def _batch(config: Mapping[str, Any], processes: int) -> RequestedSetting | None:
    """Return the effective batch size, in rows per step: the product that should not change when a job is moved."""
    size, accumulated = config.get("per_device_train_batch_size"), config.get("gradient_accumulation_steps")
    if not isinstance(size, int) or not isinstance(accumulated, int):
        return None
    parts = f"{size} a process, {accumulated} accumulated, {processes} process{'es' if processes > 1 else ''}"
    return RequestedSetting("effective batch", f"{size * accumulated * processes} rows a step ({parts})")


def spell_value(value: Any) -> str:
    """Write a setting's value on one line.

    >>> spell_value({"r": 16, "bias": None, "modules": ["q", "v"]})
    'r 16, bias none, modules q v'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {spell_value(part)}" for name, part in value.items())
    if isinstance(value, (list, tuple)):
        return " ".join(map(spell_value, value))
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)
