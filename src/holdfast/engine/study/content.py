"""What a trial is known by: a hash of all that decides its result. And the shape of a job: all that decides its rehearsal."""

from collections.abc import Callable, Mapping
from hashlib import sha256
from numbers import Real
from typing import Any, Final

from holdfast.core.job_file.job import Job, job_values
from holdfast.core.study.study import StudyMetric
from holdfast.core.study.trial import Trial
from holdfast.core.text.json_text import render_canonical
from holdfast.engine.study.metric_checks import TRAINED, is_logged

WITHOUT_EFFECT: Final = (
    *("name", "notify", "output", "track", "recover"),
    *("where.backend", "where.hardware", "where.timeout", "where.stall_timeout", "where.budget_usd", "where.options"),
)
"""Keys that change neither what is trained nor what is measured: a study may change them and go on. A trial that varies one has it in its
hash all the same."""
NUMBERS: Final = (
    "seed",
    "dataset.seed",
    *(
        f"train.{name}"
        for name in ("learning_rate", "weight_decay", "num_train_epochs", "max_steps", "seed", "data_seed")
    ),
    *(
        f"train.{name}"
        for name in ("adam_beta1", "adam_beta2", "adam_epsilon", "max_grad_norm", "warmup_steps", "warmup_ratio")
    ),
    *("train.beta", "peft.lora_alpha"),
)
"""Numbers of which a rehearsal sees no more than their kind and their sign: it takes a few steps, however many and however large they are."""
OF_SPLIT: Final = ("path", "config", "eval_split", "map")
"""Keys of a dataset that decide the rows of its evaluation split; what is trained on is another matter."""

OF_DRAW: Final = ("rows", "eval_fraction", "mix", "streaming")
"""Keys of a dataset by which a seed chooses rows; without them, all rows are used, in an order of the seed."""


def content_of(job: Job, varied: Mapping[str, Any], digests: Mapping[str, str], versions: Mapping[str, str]) -> str:
    """Return the hash of a trial.

    Args:
        job: The job of the trial.
        varied: What the trial changes in it.
        digests: Digests of the files that the job names, by the name in the job: a file that moves is the same.
        versions: Releases by package.
    """
    kept = _without(job_values(job), WITHOUT_EFFECT)
    own = {key: value for key, value in varied.items() if key.startswith(WITHOUT_EFFECT)}
    return sha256(render_canonical([_with_digests(kept, digests), own, versions]).encode()).hexdigest()


def shape_of(job: Job, digests: Mapping[str, str]) -> str:
    """Return the hash of all that a rehearsal of a job depends on: jobs that differ in rates and seeds alone have the same."""
    kept = _without(job_values(job), ("name",))
    for key in NUMBERS:
        kept = _changed(kept, key.split("."), _kind)
    return sha256(render_canonical(_with_digests(kept, digests)).encode()).hexdigest()


def rows_of(job: Job, metric: StudyMetric, trial: Trial, digests: Mapping[str, str]) -> str:
    """Return the hash of all that decides which rows a metric is measured on; empty if these are of `evaluate:`, the same for all trials.

    The seeds of `seeds` do not count: every setting has each of them.

    Args:
        job: The job.
        metric: The metric.
        trial: The trial.
        digests: Digests of the files that the job names, by the name in the job.
    """
    if not is_logged(metric):
        return ""
    has_split = job.dataset.eval_split is not None and metric.name != TRAINED
    data = job.dataset.model_dump(by_alias=True, include={*OF_SPLIT} if has_split else None)
    drawn = any(data.get(key) for key in OF_DRAW)
    own = job.seed if drawn and trial.seed is None and job.dataset.seed is None else None
    seeds = {"seed": data.get("seed") if drawn else None}
    return sha256(render_canonical([_with_digests(data | seeds, digests), own]).encode()).hexdigest()


def _kind(value: Any) -> Any:
    """Return the kind and the sign of a number; anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return [type(value).__name__, (value > 0) - (value < 0)]  # type: ignore[operator]  # a float or an int


def _without(values: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    for key in keys:
        values = _changed(values, key.split("."), lambda _: None)
    return values


def _changed(values: Any, path: list[str], change: Callable[[Any], Any]) -> Any:
    """Return a copy of nested mappings with the value at a path changed, if there is one."""
    name, *rest = path
    if not isinstance(values, dict) or name not in values:
        return values
    return {**values, name: _changed(values[name], rest, change) if rest else change(values[name])}


def _with_digests(values: Any, digests: Mapping[str, str]) -> Any:
    """Return values in which each name of a file is its digest."""
    if isinstance(values, dict):
        return {name: _with_digests(each, digests) for name, each in values.items()}
    if isinstance(values, list):
        return [_with_digests(each, digests) for each in values]
    return digests.get(values, values) if isinstance(values, str) else values
