"""Where a job says how its model is loaded: in a call of its own, or in the trainer's config.

A job file has `model.dtype`. A script has `from_pretrained(…, dtype=…)`, in older ones `torch_dtype`, or leaves the
loading to TRL with `model_init_kwargs={"dtype": …}` in the config. All are read as `model.dtype`, and each is changed
elsewhere.
"""

from collections.abc import Mapping
from typing import Any, Final

from holdfast.core.job.document import Document, Set

INIT: Final = "train.model_init_kwargs"
OLD_NAMES: Final = {"dtype": "torch_dtype"}


def written_at(job: Document, name: str) -> str:
    """Return the key of what the source itself says of a model's setting: the place to point at.

    >>> written_at(Document(path="job.yaml", kind="job", values={"model": {"dtype": "float32"}}), "dtype")
    'model.dtype'
    """
    call = job.call("model")
    for spelled in _spellings(name):
        if call is not None and spelled in call.arguments:
            return f"model.{spelled}"
    inside = job.kind != "job" and any(spelled in _settings(job) for spelled in _spellings(name))
    return INIT if inside else f"model.{name}"


def set_to(job: Document, name: str, value: Any) -> Set:
    """Return the edit that gives a model's setting another value, where the source has it."""
    key = written_at(job, name)
    if key != INIT:
        return Set(key, value)
    settings = _settings(job)
    spelled = next(spelled for spelled in _spellings(name) if spelled in settings)
    return Set(INIT, {**settings, spelled: value})


def loading_setting(job: Document, name: str) -> Any:
    """Return a setting with which the model is loaded; in a job file, what `train.model_init_kwargs` has wins.

    >>> values = {"model": {"dtype": "float32"}, "train": {"model_init_kwargs": {"dtype": "bfloat16"}}}
    >>> loading_setting(Document(path="job.yaml", kind="job", values=values), "dtype")
    'bfloat16'
    """
    within = _settings(job).get(name) if job.kind == "job" else None
    return job.get(f"model.{name}", None) if within is None else within


def _spellings(name: str) -> tuple[str, ...]:
    return (name, OLD_NAMES[name]) if name in OLD_NAMES else (name,)


def _settings(job: Document) -> Mapping[str, Any]:
    """Return the settings for the model in the trainer's config."""
    given = job.get(INIT, None)
    return given if isinstance(given, Mapping) else {}
