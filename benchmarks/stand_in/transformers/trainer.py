"""A `Trainer` of numbers: it draws from a random generator, so that a wrong resume ends with other weights."""

import json
import shutil
import struct
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from number_model import WEIGHTS, Model


@dataclass
class TrainingArguments:
    """Those that the script gives, and what the runtime asks of them."""

    output_dir: str
    max_steps: int
    save_steps: int
    save_total_limit: int | None = None
    logging_steps: int = 1
    report_to: str = "none"
    save_strategy: str = "steps"
    use_cpu: bool = True
    world_size: int = field(default=1, init=False)
    process_index: int = field(default=0, init=False)
    device: str = field(default="cpu", init=False)

    def to_dict(self) -> dict[str, Any]:
        """All of them."""
        return asdict(self)


@dataclass
class TrainerState:
    """Where the training is."""

    global_step: int = 0
    max_steps: int = 0
    epoch: float = 0.0
    num_input_tokens_seen: int = 0


@dataclass
class TrainerControl:
    """What callbacks asked for."""

    should_log: bool = True
    should_save: bool = False
    should_training_stop: bool = False
    should_epoch_stop: bool = False


class TrainerCallback:
    """A callback; it hears what it has a method for."""


class CallbackHandler:
    """The callbacks, in order."""

    def __init__(self, callbacks: Sequence[Any]) -> None:
        self.callbacks = list(callbacks)

    def call(self, event: str, trainer: "Trainer", **more: Any) -> None:
        """Tell each of an event."""
        for each in self.callbacks:
            if hear := getattr(each, event, None):
                hear(trainer.args, trainer.state, trainer.control, model=trainer.model, **more)


def rotate_checkpoints(folder: str, limit: int | None) -> None:
    """Delete the oldest checkpoints beyond a number."""
    found = sorted(Path(folder).glob("checkpoint-*"), key=lambda path: int(path.name.partition("-")[2]))
    for old in found[:-limit] if limit else []:
        shutil.rmtree(old)


def archive(path: Path, content: object) -> None:
    """Write a zip archive, as `torch.save` does."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(zipfile.ZipInfo("archive/data"), json.dumps(content))


def unarchive(path: Path) -> Any:
    """Return what `archive` wrote."""
    with zipfile.ZipFile(path) as file:
        return json.loads(file.read("archive/data"))


class Trainer:
    """Trains, saves and continues."""

    def __init__(
        self,
        model: Model,
        args: TrainingArguments,
        train_dataset: Any,  # noqa: ARG002 - as Trainer has it
        callbacks: Sequence[Any] = (),
    ) -> None:
        self.args, self.model = args, model
        self.state, self.control = TrainerState(max_steps=args.max_steps), TrainerControl()
        self.callback_handler = CallbackHandler(callbacks)

    def add_callback(self, callback: Any) -> None:
        """Add one, behind the others."""
        self.callback_handler.callbacks.append(callback)

    def is_world_process_zero(self) -> bool:
        """True of the only process."""
        return True

    def train(self, resume_from_checkpoint: str | None = None) -> None:
        """Train to the last step."""
        if resume_from_checkpoint:
            self._load(Path(resume_from_checkpoint))
        self._tell("on_train_begin")
        self._run_epoch()
        self._tell("on_train_end")

    def _run_epoch(self, **_: Any) -> None:
        self._tell("on_epoch_begin")
        while self.state.global_step < self.state.max_steps and not self.control.should_training_stop:
            loss = self.model.step()
            self.state.global_step += 1
            self.state.epoch = self.state.global_step / self.state.max_steps
            self.control.should_save = self.state.global_step % self.args.save_steps == 0
            self._tell("on_step_end")
            self._tell("on_log", logs={"loss": loss, "learning_rate": 0.1, "grad_norm": 1.0})
            if self.control.should_save:
                self._save_checkpoint()
                self._tell("on_save")

    def evaluate(self) -> dict[str, float]:
        """There is nothing to evaluate on."""
        return {}

    def save_model(self, output_dir: str | None = None) -> None:
        """Save the weights."""
        self._save(output_dir or self.args.output_dir)

    def _save(self, output_dir: str) -> None:
        folder = Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        data = struct.pack(f"<{WEIGHTS}d", *self.model.weights)
        header = json.dumps({"weight": {"dtype": "F64", "shape": [WEIGHTS], "data_offsets": [0, len(data)]}}).encode()
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)
        (folder / "config.json").write_text(json.dumps({"model_type": "numbers"}))
        archive(folder / "training_args.bin", self.args.to_dict())

    def _save_checkpoint(self) -> None:
        folder = Path(self.args.output_dir, f"checkpoint-{self.state.global_step}")
        self.save_model(str(folder))
        archive(folder / "optimizer.pt", self.model.momentum)
        archive(folder / "scheduler.pt", self.state.global_step)
        archive(folder / "rng_state.pth", self.model.dice.getstate())
        (folder / "trainer_state.json").write_text(json.dumps(asdict(self.state)))
        rotate_checkpoints(self.args.output_dir, self.args.save_total_limit)

    def _load(self, folder: Path) -> None:
        data = (folder / "model.safetensors").read_bytes()[-8 * WEIGHTS :]
        self.model.weights = list(struct.unpack(f"<{WEIGHTS}d", data))
        self.model.momentum = unarchive(folder / "optimizer.pt")
        version, numbers, gauss = unarchive(folder / "rng_state.pth")
        self.model.dice.setstate((version, tuple(numbers), gauss))
        self.state = TrainerState(**json.loads((folder / "trainer_state.json").read_text()))

    def _tell(self, event: str, **more: Any) -> None:
        self.callback_handler.call(event, self, **more)
