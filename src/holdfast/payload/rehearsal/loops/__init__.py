"""Training loops of the script's own, without a `Trainer`: the stages that they are in, and whether they train anything.

A loop is known by its optimizers: those that are made, and that step, in the script's own lines. Source: hooks of
`torch.optim.Optimizer`, since torch 2.0. Covered: plain loops, accelerate's, and what else has an optimizer of torch step.
Not covered: the number of epochs, which is the loop's own; whether its loss is the right one.
"""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from ..events import EventWriter
from ..libraries import torch
from ..part_request import PartRequest
from ..wrapping import when_imported, wrap
from . import judging
from .losses import LossRecord
from .schedules import ScheduleWatch
from .updates import OptimizerWatch

SAVES = re.compile(r"save|push|upload|dump|write|export|checkpoint|to_|\.log\(|wandb|mlflow|trackio", re.IGNORECASE)
"""What a script says that keeps its model, or its figures, in whatever way."""
SAVING = (
    ("transformers.modeling_utils", "PreTrainedModel", ("save_pretrained",)),
    ("peft.peft_model", "PeftModel", ("save_pretrained",)),
    ("accelerate.accelerator", "Accelerator", ("save_state", "save_model")),
)
BATCHES = 16
STEPS = 4
"""After so many batches, and steps of an optimizer, an epoch of a loop ends: on a processor a whole one takes too long."""
SHOWN_BY = "a loop of its own decides when it saves; the job shows it"
_loops: list["Loops"] = []


class Loops:
    """Watches the loops of the script's own lines: what they compute, what they update, and by which schedule."""

    def __init__(self, events: EventWriter) -> None:
        self._events = events
        self.updates = OptimizerWatch(events)
        self.losses = LossRecord(events, self.updates)
        self.schedules = ScheduleWatch(events, self.losses, self.updates)

    def watch_loaders(self, module: Any) -> None:
        """Take it that a loop begins where rows are requested after an optimizer was made."""

        def begin(original: Any, loader: Any) -> Any:
            if not self.updates.made:
                return original(loader)
            self._events.go_on("step")
            batches = original(loader)
            return self._few(batches, loader) if self._events.is_outside else batches

        wrap(module.DataLoader, "__iter__", begin)

    def _few(self, batches: Iterator[Any], loader: Any) -> Iterator[Any]:
        """Yield batches until the loop has gone through a few, and taken a few steps with them if it trains."""
        trains, begun = torch.is_grad_enabled(), self.updates.steps
        for number, batch in enumerate(batches, start=1):
            yield batch
            if number >= BATCHES and (not trains or self.updates.steps - begun >= STEPS):
                self._tell_few(loader, number)
                return

    def _tell_few(self, loader: Any, number: int) -> None:
        """Tell that an epoch was ended, if it would have gone on."""
        try:
            whole = len(loader)
        except TypeError:  # a stream
            whole = 0
        if whole != number:
            self._events.shrunk("batches of an epoch of the loop", whole or "a stream", number, unit="rows")

    def saving(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        """Take the place of what saves, which is a stage of its own in a loop."""
        if not self.ran or not self._events.is_outside:
            return original(*args, **kwargs)
        if hasattr(args[0], "state_dict") and not hasattr(args[0], "peft_config"):
            self.updates.saves.look(args[0], kwargs.get("state_dict"))
        with self._events.during("save"):
            return original(*args, **kwargs)

    @property
    def ran(self) -> bool:
        """Whether there was a loop: an optimizer that stepped, or gradients that were computed for one."""
        return bool(self.updates.seen) or bool(self.updates.made and self.losses.count)


def install(_part_request: PartRequest, events: EventWriter) -> None:
    """Watch loops of the script's own."""
    loops = Loops(events)
    _loops[:] = [loops]
    when_imported("torch.optim.optimizer", loops.updates.watch)
    when_imported("torch.optim.lr_scheduler", loops.schedules.watch)
    when_imported("torch.nn.modules.module", loops.losses.watch_models)
    when_imported("torch.nn.modules.module", loops.updates.watch_models)
    when_imported("torch.nn.utils.clip_grad", loops.updates.watch_clipping)
    when_imported("torch", loops.losses.watch)
    when_imported("transformers.modeling_utils", loops.losses.watch_checkpointing)
    when_imported("accelerate.accelerator", loops.losses.watch_accelerator)
    when_imported("torch.utils.data.dataloader", loops.watch_loaders)
    for module, owner, names in SAVING:
        when_imported(module, partial(_watch_saving, owner=owner, names=names, loops=loops))


def _watch_saving(module: Any, *, owner: str, names: tuple[str, ...], loops: Loops) -> None:
    for name in names:
        wrap(getattr(module, owner), name, loops.saving)


def adapter_trainings() -> list[Mapping[str, Any]]:
    """Return the trainings of a loop in the form that `saved_adapters.look` takes, one for each base of a model that it saved."""
    saves = [each.updates.saves for each in _loops if each.ran]
    return [{"adapter": each.largest_from_zero, "base": base} for each in saves for base in {*each.bases, ""}]


def judge(part_request: PartRequest, events: EventWriter, *, saved: bool) -> None:
    """Judge the loops of a script that has come to its end.

    Args:
        part_request: Has the script's text.
        events: Receives the report.
        saved: Whether anything was saved or pushed that may hold weights.
    """
    loops = next((each for each in _loops if each.ran), None)
    if loops is None:
        return
    events.fact("loop", evaluates=loops.losses.evaluates)
    judging.judge(loops.losses, loops.updates, loops.schedules, part_request.source, events)
    loops.updates.saves.judge(part_request.source, events)
    if saved:
        return
    if SAVES.search(part_request.source):  # under a condition, mostly: every thousand steps, where it got better
        events.not_rehearsed("saving", SHOWN_BY)
    else:
        because = "training came to its end, and nothing in the script saves or pushes what was trained"
        events.warning("no-checkpoint-saved", "save", because)  # a loop may be there to see what comes of it
