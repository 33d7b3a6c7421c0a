"""The events of a training process, as `events.jsonl` has them: `payload/runtime.py` writes them.

They are read leniently: what is missing has its default, fields that are not known are ignored, and an event whose
fields have wrong types tells nothing.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any, Final, Literal

import msgspec

from holdfast.core.run.remedy import SettingChange
from holdfast.core.run.unix_time import UnixTime
from holdfast.core.text.json_text import USABLE_NUMBERS, parse_json

ROWS_SETTING: Final = "data"
"""Setting of a checkpoint that has the number and the hash of its training's rows."""


StepCount = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""A number of optimizer steps."""


class TrainingEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event of any kind.

    Attributes:
        at: Unix time by the training process' clock; None if it does not tell.
        step: Optimizer steps done; 0 before the first.
        max_steps: Optimizer steps that the trainer plans; None before it reports them.
        idle_s: Most seconds without a sign of life of its main thread since the event before; of a heartbeat, the seconds since the last.
    """

    at: UnixTime | None = None
    step: StepCount | None = None
    max_steps: StepCount | None = None
    idle_s: float | None = None


class TrainingStarted(TrainingEvent, frozen=True, kw_only=True):
    """A training begins.

    Attributes:
        config: The trainer's arguments, defaults included.
        model: Class of the model.
        base: What it was loaded from: a folder, absolute, or an id of the Hub; empty if that is not known.
        parameters: Parameters of the model.
        trainable: Those that are trained.
        versions: Releases by package; `python` is one.
        world_size: Processes on all machines.
        hardware: Names of the devices.
        allocator: The setting of torch's allocator; empty if it has none.
        data: How the rows were chosen, how many there are, and their hash: the account of a job file's script.
    """

    config: Mapping[str, Any] = {}
    model: str = ""
    base: str = ""
    parameters: int = 0
    trainable: int = 0
    versions: Mapping[str, str] = {}
    world_size: int = 1
    hardware: tuple[str, ...] = ()
    allocator: str = ""
    data: Mapping[str, Any] = {}


class Resumed(TrainingEvent, frozen=True, kw_only=True):
    """A training continues from a checkpoint: how its settings compare with those that the checkpoint was saved with.

    Attributes:
        checkpoint: The checkpoint, absolute.
        verdict: Unknown if the checkpoint does not have its settings. Refused if a change was not accepted: then no step is trained.
            Ignored if the training that begins is not the one that continues from the checkpoint.
        changes: What differs.
    """

    checkpoint: str = ""
    verdict: Literal["same", "accepted", "refused", "unknown", "ignored"] = "unknown"
    changes: tuple[SettingChange, ...] = ()


class Measurement(TrainingEvent, frozen=True, kw_only=True):
    """Something that was measured.

    Attributes:
        metrics: Values by the trainer's names.
        nan: Names of the values that are not finite.
        elapsed_s: Seconds that it took.
    """

    metrics: Mapping[str, Any] | None = None
    nan: tuple[str, ...] = ()
    elapsed_s: float | None = None

    def figures(self) -> Iterator[tuple[str, float]]:
        """Yield the name and the value of each number."""
        for name, value in (self.metrics or {}).items():
            if isinstance(value, (int, float)):
                yield name, value


class StepDone(Measurement, frozen=True, kw_only=True):
    """An optimizer step was done; it has figures if the trainer logged then.

    Attributes:
        epoch: Passes over the data.
        tokens: Tokens seen since the training began; None if they are not counted.
        memory_bytes: Most memory that the process took.
        activity: `first-step` if it is the first of an epoch, which may compile and start loader workers; else `step`.
    """

    loss: float | None = None
    grad_norm: float | None = None
    learning_rate: float | None = None
    epoch: float | None = None
    tokens: float | None = None
    memory_bytes: int | None = None
    activity: str = ""

    @property
    def measured_loss(self) -> float | None:
        """The loss; None if there is none, or if it is the 0 that transformers logs in place of one that is not finite.

        >>> StepDone(loss=0.0).measured_loss, StepDone(loss=0.0, nan=("grad_norm",)).measured_loss
        (0.0, None)
        """
        return None if self.loss == 0 and "grad_norm" in self.nan else self.loss

    def figures(self) -> Iterator[tuple[str, float]]:
        """Yield the name and the value of each number; a step's loss is `loss`."""
        own = {"loss": self.measured_loss, "grad_norm": self.grad_norm, "learning_rate": self.learning_rate}
        yield from ((name, value) for name, value in own.items() if value is not None)
        yield from Measurement.figures(self)


class Evaluated(Measurement, frozen=True, kw_only=True):
    """An evaluation is over."""


class CheckpointSaved(TrainingEvent, frozen=True, kw_only=True):
    """A checkpoint was saved, with its manifest.

    Attributes:
        path: Its folder, absolute.
        bytes: Size of its files.
        free_bytes: Space that was free on its disk then, before older checkpoints were deleted; None if that is not known.
        kept: How many checkpoints were there then, with it.
    """

    path: str | None = None
    bytes: int | None = None
    free_bytes: int | None = None
    kept: int = 0


class ModelSaved(TrainingEvent, frozen=True, kw_only=True):
    """A model or an adapter was saved outside of checkpoints, with its manifest.

    Attributes:
        path: Its folder, absolute.
        inside: Its path in the run's folder; None if it is not in there.
        bytes: Size of the files that were written.
    """

    path: str | None = None
    inside: str | None = None
    bytes: int | None = None


class Heartbeat(TrainingEvent, frozen=True, kw_only=True):
    """The process is alive.

    Attributes:
        phase: What it is doing: `import`, `load`, `train`, `evaluate`, `save`, `finish`.
        activity: The same, with `first-step` and `step` in place of `train`; empty if it does not tell.
    """

    phase: str = ""
    activity: str = ""


class PushStarted(TrainingEvent, frozen=True, kw_only=True):
    """An upload to the Hub begins.

    Attributes:
        repository: Where it goes.
        revision: The branch; None for the main one.
        folder: What is uploaded, absolute.
    """

    repository: str | None = None
    revision: str | None = None
    folder: str | None = None


class PushFailed(TrainingEvent, frozen=True, kw_only=True):
    """An upload to the Hub in the background failed; the training goes on.

    Attributes:
        because: Why.
    """

    because: str = ""


class BestLoaded(TrainingEvent, frozen=True, kw_only=True):
    """Training is over, and the trainer has loaded the best checkpoint: the model is that one's, not the last step's.

    Attributes:
        checkpoint: Its folder, absolute or as the script gave its `output_dir`.
        metric: The metric that chose it, with or without `eval_`.
        value: Its value there; None if it was not finite.
    """

    checkpoint: str = ""
    metric: str = ""
    value: float | None = None


class TrainingEnded(TrainingEvent, frozen=True, kw_only=True):
    """The process ends: its last event.

    Attributes:
        status: `finished`, `stopped` or `failed`.
        reason: Kind of reason, an `EndReason` of the holdfast that wrote it.
        because: The reason, in words.
        where: The script's own line: `train.py:12`.
    """

    status: str | None = None
    reason: str | None = None
    because: str | None = None
    where: str | None = None


KINDS: Final[Mapping[object, type[TrainingEvent]]] = {
    "start": TrainingStarted,
    "resume": Resumed,
    "step": StepDone,
    "evaluate": Evaluated,
    "checkpoint": CheckpointSaved,
    "model": ModelSaved,
    "heartbeat": Heartbeat,
    "best": BestLoaded,
    "push": PushStarted,
    "push_failed": PushFailed,
    "end": TrainingEnded,
}
"""Kinds of events by the word in `event`."""


def event_of_line(line: bytes) -> dict[str, Any]:
    """Return the event that a line holds, as it was written. A line that is unreadable becomes an `unreadable` event.

    Unreadable is what is not a JSON object, or has a number that cannot be computed with.

    >>> event_of_line(b'{"event": "step", "step": 3}')
    {'event': 'step', 'step': 3}
    >>> event_of_line(b"[1, 2")
    {'event': 'unreadable', 'text': '[1, 2'}
    >>> event_of_line(b'{"event": "step", "loss": 1e999}')["event"]
    'unreadable'
    """
    with suppress(ValueError):
        if isinstance(written := parse_json(line, USABLE_NUMBERS), dict):
            return written
    return {"event": "unreadable", "text": line.decode(errors="replace")}


def parse_training_event(written: Mapping[str, Any]) -> TrainingEvent:
    """Return an event as the training process wrote it; one of an unknown kind is a plain `TrainingEvent`.

    >>> parse_training_event({"event": "checkpoint", "step": 5, "path": "/runs/a/checkpoint-5"}).path
    '/runs/a/checkpoint-5'
    >>> parse_training_event({"event": "step", "step": "five"})
    TrainingEvent(at=None, step=None, max_steps=None, idle_s=None)
    """
    kind = written.get("event")
    try:
        return msgspec.convert(written, KINDS.get(kind, TrainingEvent) if isinstance(kind, str) else TrainingEvent)
    except msgspec.ValidationError:
        return TrainingEvent()
