"""A checkpoint of the real job that the script goes on from: whether that would work, without loading what is too large.

Its tensors have the size of the real model, and the twin's have not: the files are judged, and the twin begins anew.
Source: `Trainer._load_from_checkpoint` and `_load_optimizer_and_scheduler` of transformers 5.23: without one of
`optimizer.pt` and `scheduler.pt` neither is loaded, and nothing is said.
"""

import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..events import EventWriter
from ..libraries import safetensors, torch

CORRUPT = "checkpoint-corrupt"
INCOMPLETE = "checkpoint-incomplete"
STATE = "trainer_state.json"
OLDER = "Resume from an older checkpoint that is complete, and remove this one."
SCHEDULER = "scheduler.pt"
ARCHIVES = ("optimizer.pt", SCHEDULER, "rng_state.pth")


def look_at_checkpoint(folder: Path, trainer: Any, requested: Mapping[str, Any], events: EventWriter) -> None:
    """Report the errors of a checkpoint, and of resuming from it with these settings.

    Args:
        folder: The checkpoint.
        trainer: The trainer that is to go on.
        requested: Its settings before they were shrunk.
        events: Receives the report.
    """
    events.fact("resume", path=str(folder), files=sorted(each.name for each in folder.iterdir()))
    damaged = [*_damages(folder)]
    for name, because in damaged:
        events.fault(CORRUPT, "resume", f"{folder.name}/{name} is damaged: {because}", fix=OLDER, file=name)
    if damaged:
        return
    state = _state(folder)
    _report_lack(folder, state, events)
    _report_other_kind(folder, trainer, events)
    _report_other_settings(folder, state, requested, events)
    because = f"rehearse where its tensors fit: they have the size of the real model ({folder})"
    events.not_rehearsed("going on from the script's own checkpoint", because)


def _damages(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield each file that cannot be read, and why."""
    for path in sorted(folder.glob("*.safetensors")):
        if because := _tensors_damage(path):
            yield path.name, because
    for name in ARCHIVES:
        if (folder / name).is_file() and not zipfile.is_zipfile(folder / name):
            yield name, "it is cut off"
    if (folder / STATE).is_file():
        try:
            json.loads((folder / STATE).read_text(encoding="utf-8"))
        except ValueError:
            yield STATE, "it is not valid JSON"


def _tensors_damage(path: Path) -> str:
    """Return a description of the damage of a safetensors file, by its header's offsets; empty if there is none."""
    try:
        with safetensors.safe_open(path, framework="pt"):
            return ""
    except safetensors.SafetensorError as error:
        return str(error)


def _state(folder: Path) -> Mapping[str, Any]:
    path = folder / STATE
    state: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return state


def _report_lack(folder: Path, state: Mapping[str, Any], events: EventWriter) -> None:
    lacking = [name for name in ("optimizer.pt", SCHEDULER) if not (folder / name).is_file()]
    if not state:
        events.fault(CORRUPT, "resume", f"{folder.name} has no {STATE}: training cannot go on from it", fix=OLDER)
    elif lacking:
        because = f"{folder.name} has no {' and no '.join(lacking)}: optimizer and schedule start from scratch, without a warning"
        fix = "Resume from a checkpoint that was written with `save_only_model=False`, or begin a new training from its weights."
        events.fault(INCOMPLETE, "resume", because, fix=fix)


def _report_other_kind(folder: Path, trainer: Any, events: EventWriter) -> None:
    """Report a checkpoint of an adapter where a whole model is trained, and the other way round."""
    wants = hasattr(trainer.model, "peft_config")
    has = (folder / "adapter_config.json").is_file()
    whole = any(folder.glob("model*.safetensors")) or any(folder.glob("pytorch_model*.bin"))
    if wants != has and (has or whole):
        kinds = ("an adapter", "a whole model")
        because = f"{folder.name} is {kinds[not has]}, and {kinds[not wants]} is trained"
        fix = "Resume with the settings that wrote the checkpoint, with or without the adapter."
        events.fault("checkpoint-shape-mismatch-on-resume", "resume", because, fix=fix)


def _report_other_settings(
    folder: Path, state: Mapping[str, Any], requested: Mapping[str, Any], events: EventWriter
) -> None:
    """Report settings that the checkpoint goes before, or that have changed under it."""
    step, steps = int(state.get("global_step") or 0), int(requested.get("max_steps") or -1)
    if 0 < steps <= step:
        because = f"{folder.name} is at step {step} of {steps}: nothing is left to train"
        events.fault("too-few-training-steps", "resume", because, fix=f"Raise `max_steps` above {step}.")
    before, now = state.get("train_batch_size"), requested.get("per_device_train_batch_size")
    if before and now and before != now:
        because = f"the checkpoint was trained with a batch of {before} per device, and {now} is asked for"
        fix = f"Write `per_device_train_batch_size={before}`, or begin a new training."
        events.fault("resume-settings-changed", "resume", because, fix=fix)
    rates = _rates(folder)
    if rates and requested.get("learning_rate") and abs(rates[0] - requested["learning_rate"]) > 1e-3 * rates[0]:
        because = f"the schedule of the checkpoint goes on with a learning rate of {rates[0]:g}, not {requested['learning_rate']:g}"
        fix = f"Write `learning_rate={rates[0]:g}`, or begin a new training from the weights alone."
        events.fault("resume-settings-changed", "resume", because, fix=fix)


def _rates(folder: Path) -> list[float]:
    """Return the learning rates that a checkpoint's schedule begins with."""
    if not (folder / SCHEDULER).is_file():
        return []
    schedule = torch.load(folder / SCHEDULER, weights_only=True)
    return [float(each) for each in schedule.get("base_lrs", ())]
