"""A point that runs: its phases, its steps, its tokens, and what becomes of it."""

import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from transformers import TrainerCallback

from benchmarks.memory.cards import Card
from benchmarks.memory.checkpoint import fill
from benchmarks.memory.history import reduced, save_history
from benchmarks.memory.phases import Phases
from benchmarks.memory.points import Point
from benchmarks.memory.table import PACKAGES

MakeTrainer = Callable[[Path], Any]


class WrongRowsError(Exception):
    """The policy did not see the tokens that the point says; what was measured is another point."""


class Marker(TrainerCallback):  # type: ignore[misc] # transformers' types are not read
    """Notes where each step's phases begin, and how long the steps take."""

    def __init__(self, phases: Phases, card: Card) -> None:
        self.phases, self.card = phases, card
        self.age, self.began, self.seconds = "first", 0.0, list[float]()

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        """End loading: what is made from now on is the optimizer and the first batches."""
        self.phases.enter("begin")

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Begin a step, and its clock."""
        self.card.synchronize()
        self.began = time.perf_counter()
        self.enter("prepare")

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        """Begin the optimizer's part."""
        self.enter("optimizer")

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """End a step when the card has done all of it."""
        self.card.synchronize()
        self.seconds.append(time.perf_counter() - self.began)
        self.phases.close()
        self.age = "later"

    def enter(self, name: str) -> None:
        """Begin a phase of the first step or of a later one."""
        self.phases.enter(f"{self.age}_{name}")


def mark_phases(trainer: Any, marker: Marker) -> None:
    """Have the trainer tell where its forward and its backward pass begin and end."""
    trainer.add_callback(marker)
    trainer.compute_loss = _between(marker, "forward", trainer.compute_loss, "backward")
    trainer.accelerator.backward = _between(marker, "backward", trainer.accelerator.backward, "clip")


def _between(marker: Marker, before: str, original: Callable[..., Any], after: str) -> Callable[..., Any]:
    """Return a function that begins a phase before the original and another after it; in evaluation, none."""

    def marked(*args: Any, **kwargs: Any) -> Any:
        if marker.phases.current == "evaluation":
            return original(*args, **kwargs)
        marker.enter(before)
        answer = original(*args, **kwargs)
        marker.enter(after)
        return answer

    return marked


def measure(point: Point, make_trainer: MakeTrainer, card: Card, history: Path | None) -> dict[str, str]:
    """Run a point and return its cells; memory that ran out is an answer too.

    Args:
        point: What is measured.
        make_trainer: Makes the trainer, with its model loaded; it is given a folder to write to.
        card: Where it runs.
        history: File for the recorded allocations, of a point that asks for them.
    """
    phases = Phases(card.take_peak, card.count_events)
    marker = Marker(phases, card)
    cells = {"outcome": "ok" if card.real else "dry", "phase": "done", **card.cells()}
    with TemporaryDirectory() as output, card.recording(enabled=point.history):
        try:
            cells |= train(point, make_trainer(Path(output)), card, marker)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this point's outcome
            traceback.print_exc()
            cells |= failure(error) | {"phase": phases.current}
        phases.close()
        if history and cells["outcome"] == "ok":
            save_history(point, reduced(card.trace(), phases.marks), history)
    allocated, reserved = phases.overall()
    overall = {"peak_allocated_bytes": str(allocated), "peak_reserved_bytes": str(reserved)} if card.real else {}
    steps = {f"step_{step}_s": f"{seconds:.4f}" for step, seconds in enumerate(marker.seconds, 1)}
    return cells | overall | (phases.cells() if card.real else {}) | steps | card.closing_cells()


def train(point: Point, trainer: Any, card: Card, marker: Marker) -> dict[str, str]:
    """Draw weights, train and perhaps evaluate; return what the trainer shows."""
    for model in (trainer.model, getattr(trainer, "ref_model", None)):
        if model is not None:
            fill(model)
    mark_phases(trainer, marker)
    loaded = card.allocated()
    seen = Tokens(trainer)
    trainer.train()
    tokens = seen.count // trainer.state.global_step
    if tokens != point.tokens:
        raise WrongRowsError(f"{tokens} tokens a step, not {point.tokens}")
    cells = {
        "trainable": str(sum(each.numel() for each in trainer.model.parameters() if each.requires_grad)),
        "loaded_bytes": loaded,
        "between_steps_bytes": card.allocated(),
        "tokens": str(tokens),
    }
    if point.evaluation:
        marker.phases.enter("evaluation")
        trainer.evaluate()
    return cells


class Tokens:
    """Counts the tokens that the policy's training passes see, padding included."""

    def __init__(self, trainer: Any) -> None:
        self.count = 0
        original = trainer.training_step

        def counted(model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            with self.watching(model):
                return original(model, inputs, *args, **kwargs)

        trainer.training_step = counted

    @contextmanager
    def watching(self, model: Any) -> Iterator[None]:
        """Count what goes through the model with gradients, so neither the reference's pass nor generation."""

        def seen(_: Any, __: Any, given: dict[str, Any]) -> None:
            if torch.is_grad_enabled() and given.get("input_ids") is not None:
                self.count += given["input_ids"].numel()

        hook = model.register_forward_pre_hook(seen, with_kwargs=True)
        try:
            yield
        finally:
            hook.remove()


def failure(error: Exception) -> dict[str, str]:
    """Return the cells that tell of an error by its first line."""
    first = (str(error).splitlines() or [""])[0]
    outcome = "oom" if isinstance(error, torch.cuda.OutOfMemoryError) else "failed"
    return {"outcome": outcome, "error": f"{type(error).__name__}: {first}"[:200]}


def versions() -> dict[str, str]:
    """Return the versions of the libraries that decide what happens."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    if not sys.modules.get("bitsandbytes"):  # installed, and hidden
        found["bitsandbytes"] = ""
    return found | {"cuda": torch.version.cuda or "", "date": time.strftime("%Y-%m-%d")}
