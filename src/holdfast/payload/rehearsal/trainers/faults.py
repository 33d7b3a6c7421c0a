"""Faults that happen to a training: what a machine, a GPU or a disk does to it, amid a step, an evaluation or a save.

Signals, a step that does not return, gradients, a cut file and a full disk are real: the kernel itself says that `/dev/full` has no
room. Memory of a GPU is simulated: a twin has none to run out of, so PyTorch's own error is raised where the model is called. It is
raised for as long as the batch, or what is kept of it, is not smaller than `fits`.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..events import EventWriter
from ..libraries import torch
from ..part_request import PartRequest

FULL = "/dev/full"
OPTIMIZER = "optimizer.pt"
WEIGHTS = ("model.safetensors", "adapter_model.safetensors")
SIGNALS = {"kill": signal.SIGKILL, "sigterm": signal.SIGTERM}
OF_FIRST = ("disk-full",)
"""Faults of what the first of several processes does alone."""
OF_ALL = ("nan-gradients",)
"""Faults of what all processes share."""
OF_ONE = ("kill", "stall", "oom-train", "oom-eval", *OF_FIRST)
"""Faults that begin in one of several processes."""
OUT_OF_MEMORY = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 22.06 GiB of which 1.06 GiB is free. Including "
    "non-PyTorch memory, this process has 20.99 GiB memory in use. Of the allocated memory 19.80 GiB is allocated by PyTorch, and "
    "921.10 MiB is reserved by PyTorch but unallocated."
)
"""What PyTorch 2.13 says; the numbers are made up."""


class TrainingFault:
    """The fault of one part. It strikes once; one of memory, whenever memory does not suffice.

    Of several processes, one alone is struck: the last, or the first by what it alone does. Gradients are those of all.
    """

    def __init__(self, part_request: PartRequest, events: EventWriter) -> None:
        rank = 0 if part_request.fault in OF_FIRST else part_request.processes - 1
        self._is_here = part_request.rank == rank or part_request.fault in OF_ALL
        self._is_launched = part_request.processes > 1
        self._rank = part_request.rank if self._is_launched and part_request.fault in OF_ONE else None
        self._name, self._at, self._fits = part_request.fault, part_request.stop_at, part_request.fits
        self._events, self._struck = events, part_request.part == "resume"  # of a fault that passes, nothing is left

    def before_step(self, trainer: Any, model: Any, inputs: Any) -> None:
        """Strike amid a step, before its first batch."""
        step = trainer.state.global_step + 1
        if self._is_here:
            self._strike_memory(trainer, model, inputs, step)
            if step == self._at and not self._struck:
                self._strike_process(trainer, step)

    def _strike_process(self, trainer: Any, step: int) -> None:
        """Strike the process, if that is the fault."""
        if self._name == "truncated-checkpoint":
            self._strike(step, file=cut_newest(Path(trainer.args.output_dir)))
            os.killpg(0, signal.SIGKILL)  # a machine that goes down takes all processes with it
        if self._name in ("sigterm", "kill", "stall"):
            self._strike(step)
        if self._name == "sigterm" and self._is_launched:
            os.killpg(0, signal.SIGTERM)  # schedulers send it to all processes, the launcher among them
        elif self._name in SIGNALS:
            os.kill(os.getpid(), SIGNALS[self._name])
        elif self._name == "stall":
            threading.Event().wait()

    def _strike_memory(self, trainer: Any, model: Any, inputs: Any, step: int) -> None:
        """Let memory run out from a step on; without checkpoints of activations, a row needs twice as much."""
        if self._name == "oom-train" and step >= self._at:
            kept = 1 if trainer.args.gradient_checkpointing else 2
            self._run_out(model, rows_of(inputs) * kept, step)

    def after_step(self, trainer: Any) -> None:
        """Make the gradients of a step NaN, those of each batch that trains anything."""
        gradients = [each.grad for each in trainer.model.parameters() if each.grad is not None]
        if self._name != "nan-gradients" or trainer.state.global_step + 1 != self._at or not gradients:
            return
        self._strike(self._at)
        for each in gradients:
            each.fill_(float("nan"))

    def before_prediction(self, trainer: Any, model: Any, inputs: Any) -> None:
        """Strike amid an evaluation that comes after the step."""
        if self._is_here and self._name == "oom-eval" and trainer.state.global_step >= self._at:
            self._run_out(model, rows_of(inputs) * 2, trainer.state.global_step)

    @contextmanager
    def during_save(self, trainer: Any) -> Iterator[None]:
        """Leave no room on the disk for a file of the checkpoint that is about to be saved; an empty one is left of it."""
        step = trainer.state.global_step
        if not self._is_here or self._name != "disk-full" or step < self._at or self._struck:
            yield
            return
        folder = Path(trainer.args.output_dir, f"checkpoint-{step}")
        folder.mkdir(parents=True, exist_ok=True)
        links = [folder / name for name in (WEIGHTS if trainer.args.save_only_model else (OPTIMIZER,))]
        for link in links:
            link.symlink_to(FULL)
        self._strike(step)
        try:
            yield
        finally:
            for link in links:
                link.unlink(missing_ok=True)
                link.touch()

    def _run_out(self, model: Any, needs: int, step: int) -> None:
        """Raise PyTorch's own error when the model is called next, if memory does not suffice."""
        if needs <= self._fits:
            return
        self._strike(step, needs=needs)

        def raise_error(*_: Any) -> None:
            handle.remove()
            raise getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)(OUT_OF_MEMORY)

        handle = model.register_forward_pre_hook(raise_error)

    def _strike(self, step: int, **about: Any) -> None:
        """Record that the fault strikes: a process that is killed says nothing afterwards."""
        if not self._struck or about:
            self._events.fact("fault", name=self._name, step=step, rank=self._rank, **about)
        self._struck = True


def rows_of(inputs: Any) -> int:
    """Return the rows of a batch; 1 if nothing in it says how many there are."""
    sizes = [len(each) for each in inputs.values() if torch.is_tensor(each) and each.dim()]
    return max(sizes, default=1)


def cut_newest(folder: Path) -> str:
    """Cut the largest file of the newest checkpoint in half, as a machine that goes down before it has written all of it; return which."""
    checkpoints = sorted(folder.glob("checkpoint-*"), key=lambda each: int(each.name.rpartition("-")[2]))
    file = max((each for each in checkpoints[-1].iterdir() if each.is_file()), key=lambda each: each.stat().st_size)
    os.truncate(file, file.stat().st_size // 2)
    return f"{checkpoints[-1].name}/{file.name}"
