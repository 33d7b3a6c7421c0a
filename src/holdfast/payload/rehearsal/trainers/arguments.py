"""Arguments of trainers: brought down to a few steps after the library has validated them as they were written.

What decides whether the job works stays: lengths, precision, strategies, the generations that reward functions may count on.
"""

import numbers
import os
from pathlib import Path
from typing import Any, TypeGuard

from ..events import EventWriter
from ..part_request import PartRequest

EVERY = 2
"""Steps between two evaluations, and between two saves."""
GROUP = 8
"""Completions of a prompt that are made at most."""
PROMPTS = 2
"""Prompts of an evaluation batch whose completions are made at once, at most."""
SMALL = {
    "logging_steps": 1,
    "logging_first_step": False,
    "dataloader_num_workers": 1,
    "max_completion_length": 16,
    "gradient_accumulation_steps": 2,
    "per_device_train_batch_size": 2,
    "per_device_eval_batch_size": 4,
    "num_iterations": 2,
    "total_episodes": 16,
    "eval_delay": 0,
    "dataset_num_proc": 1,
    "save_total_limit": 4,
}
"""Settings whose values are brought down to these; smaller ones stay."""


def shrink(settings: Any, part_request: PartRequest, events: EventWriter) -> None:
    """Bring the arguments of a trainer down to a few steps, in place; those of a trainer before it stay as they are."""
    if not part_request.owns(settings.output_dir) and (because := _closed(Path(settings.output_dir).absolute())):
        fix = "Set `output_dir` to a folder that this user may write to, or correct its permissions."
        because = f"nothing can be written to {settings.output_dir}: {because}"
        events.fault("output-path-not-writable", "save", because, fix=fix)
    object.__setattr__(settings, "output_dir", str(inside(part_request, settings.output_dir)))
    for name, value in _small(settings, part_request).items():
        original = getattr(settings, name, None)
        if original != value:
            events.shrunk(name, original, value)
            object.__setattr__(settings, name, value)


def few_of(role: str, settings: Any, part_request: PartRequest) -> int:
    """Return the number of rows for a trainer: for an evaluation half of those to train on, and half of these where texts are generated.

    Args:
        role: `train` or `eval`.
        settings: The trainer's arguments, or None.
        part_request: How many rows to train on.
    """
    if role == "train":
        return part_request.rows
    return max(1, part_request.rows // (4 if getattr(settings, "num_generations", None) else 2))


def inside(part_request: PartRequest, path: str | os.PathLike[str]) -> Path:
    """Return where a path of the script's own lies in the rehearsal's folder.

    >>> str(inside(PartRequest(script="s", source="", folder="/r"), "/data/out"))
    '/r/written/data/out'
    """
    whole = Path(path).absolute()
    return whole if whole.is_relative_to(part_request.folder) else part_request.inside / whole.relative_to(whole.anchor)


def outside(part_request: PartRequest, path: str | os.PathLike[str]) -> Path:
    """Return a path as the script would know it in a real run: the inverse of `inside`.

    >>> str(outside(PartRequest(script="s", source="", folder="/r"), "/r/written/data/out"))
    '/data/out'
    """
    whole = Path(path).absolute()
    return (
        Path(whole.anchor, whole.relative_to(part_request.inside))
        if whole.is_relative_to(part_request.inside)
        else whole
    )


def _small(settings: Any, part_request: PartRequest) -> dict[str, Any]:
    """Return the settings that are brought down, with their values: names of attributes to numbers and strategies."""
    given: dict[str, Any] = {
        name: _as_it_is(value, least)
        for name, least in SMALL.items()
        if _is_number(value := getattr(settings, name, None)) and value > least
    }
    parts = _divided(settings, part_request)
    return given | parts | _steps(settings, part_request) | _group(settings) | _intervals(settings)


def _divided(settings: Any, part_request: PartRequest) -> dict[str, Any]:
    """Return the batches of a training that a remedy has made smaller, with as many rows in a step: in parts of those that it had here."""
    train, evaluation = "per_device_train_batch_size", "per_device_eval_batch_size"
    accumulation = "gradient_accumulation_steps"

    divided: dict[str, Any] = {}
    if part_request.batch_parts > 1:
        # The settings are those of after the remedy: here, both batches may have been brought down to the same.
        before = min(SMALL[train], getattr(settings, train) * part_request.batch_parts)
        steps = min(SMALL[accumulation], max(1, getattr(settings, accumulation) // part_request.batch_parts))
        divided[train] = max(1, before // part_request.batch_parts)
        divided[accumulation] = steps * before // divided[train]
    if part_request.eval_parts > 1:
        before = min(SMALL[evaluation], getattr(settings, evaluation) * part_request.eval_parts)
        divided[evaluation] = max(1, before // part_request.eval_parts)
    return divided


def _closed(folder: Path) -> str:
    """Return why a folder that may not be there yet cannot be written to; empty if it can."""
    place = next(each for each in (folder, *folder.parents) if each.exists())
    if not place.is_dir():
        return f"{place} is a file"
    return "" if os.access(place, os.W_OK) else f"{place} is closed to this user, or read-only"


def _steps(settings: Any, part_request: PartRequest) -> dict[str, Any]:
    """Return the steps to take; none where what they come of is no number, of which the library is to complain."""
    original = settings.max_steps
    if not _is_number(original) or not _is_number(settings.num_train_epochs) or 0 < original <= part_request.steps:
        return {}
    return {"max_steps": _as_it_is(original, part_request.steps) if original > 0 else part_request.steps}


def _is_number(value: Any) -> TypeGuard[float]:
    """True if a setting is a number: scripts give texts too, out of variables and files."""
    return isinstance(value, numbers.Real)


def _as_it_is(requested: Any, given: int) -> float:
    """Return a number as a float where a float was requested: a library that takes whole ones refuses either."""
    return float(given) if isinstance(requested, float) else given


def _intervals(settings: Any) -> dict[str, Any]:
    """Return strategies and steps under which a training of a few steps evaluates and saves."""
    given: dict[str, Any] = {}
    for what in ("eval", "save"):
        strategy = getattr(settings, f"{what}_strategy", None)
        if strategy in ("steps", "epoch"):
            given[f"{what}_strategy"] = type(strategy)("steps")
            given[f"{what}_steps"] = EVERY
    if getattr(settings, "logging_strategy", None) == "epoch":
        given["logging_strategy"] = type(settings.logging_strategy)("steps")
    return given


def _group(settings: Any) -> dict[str, Any]:
    """Return the batch of a trainer that makes several completions of each prompt."""
    group = getattr(settings, "num_generations", None)
    if not _is_number(group):
        return {}
    group = min(group, GROUP)
    given = {
        "num_generations": group,
        "per_device_train_batch_size": group,
        "gradient_accumulation_steps": 1,
        "steps_per_generation": 1,
        "generation_batch_size": group,
    }
    evaluated = min(getattr(settings, "num_generations_eval", None) or group, group)
    original = getattr(settings, "per_device_eval_batch_size", None)
    prompts = min(PROMPTS, max(1, int(original) // evaluated)) if _is_number(original) else 1
    given |= {"per_device_eval_batch_size": evaluated * prompts}
    if getattr(settings, "num_generations_eval", None) is not None:
        given["num_generations_eval"] = evaluated
    return {name: value for name, value in given.items() if hasattr(settings, name)}
