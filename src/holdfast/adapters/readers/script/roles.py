"""Which call plays which part in a job: the trainer, its config, its adapters, its model, its data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from holdfast.adapters.readers.script.reading import ReadingState
from holdfast.adapters.readers.script.values import LibraryCall, Member, ObjectValue, Ref, Slot

TRAINERS: Final = frozenset({"trl", "transformers", "unsloth"})
"""Packages whose classes called `…Trainer` train a model, whatever they are given."""
CONFIG_NAMES: Final = ("args", "config", "training_args")
CONFIG_ENDINGS: Final = ("Config", "Arguments")
NO_CONFIGS: Final = frozenset(
    {
        "ModelConfig",
        "GenerationConfig",
        "BitsAndBytesConfig",
        "PretrainedConfig",
        "PreTrainedConfig",
        "AutoConfig",
        "ModelArguments",
    }
)
DEEPEST: Final = 20


@dataclass(slots=True, eq=False, repr=False)
class JobCalls:
    """The calls of one job, by part; and the thing that each made, for what is set on it afterwards.

    Attributes:
        parts: By the key they stand under: `trainer`, `train`, `peft`, `quantization`, `model`, `dataset`.
        things: What they made.
        hidden: Parts that are given, but by what cannot be seen.
    """

    parts: Mapping[str, LibraryCall]
    things: Mapping[str, ObjectValue]
    hidden: frozenset[str] = frozenset()


def trainers(reading: ReadingState) -> Iterator[LibraryCall]:
    """Yield the calls that construct a trainer, in order."""
    for library_call in sorted(reading.library_calls.values(), key=lambda library_call: library_call.order):
        name = library_call.path.rpartition(".")[2]
        if not name.endswith("Trainer") or not library_call.main or library_call.via == "parser":
            continue
        if library_call.path.partition(".")[0] in TRAINERS or _config_of(library_call) is not None:
            yield library_call


def cast(reading: ReadingState, trainer: LibraryCall) -> JobCalls:
    """Return the calls that belong to a trainer."""
    config, model = _config_of(trainer), _find_model(trainer)
    adapter = _adapter(_given(trainer, ("peft_config",)))
    wrapping = _wrapping(model)
    if wrapping:
        adapter = adapter or _first_config(wrapping)
        model = _thing((wrapping.positional or [_given(wrapping, ("model",))])[0])
    found = {
        "train": config,
        "peft": adapter,
        "model": _loaded(model),
        "quantization": _quantization(reading, trainer, config, model),
        "dataset": _dataset(_given(trainer, ("train_dataset",))),
    }
    things = {part: thing for part, thing in found.items() if thing is not None}
    parts = {part: thing.library_call for part, thing in things.items() if thing.library_call}
    return JobCalls({"trainer": trainer, **parts}, things, frozenset(_hidden(trainer) - things.keys()))


def _wrapping(model: ObjectValue | None) -> LibraryCall | None:
    """Return the call that puts adapters around a model; None if none does."""
    call = model.library_call if model else None
    return call if call and call.path == "peft.get_peft_model" else None


def _loaded(model: object) -> ObjectValue | None:
    return model if isinstance(model, ObjectValue) and model.path.endswith(".from_pretrained") else None


def _hidden(trainer: LibraryCall) -> set[str]:
    """Return the parts that are given, as far as can be seen, whatever they are."""
    given = {
        "peft": _given(trainer, ("peft_config",)) is not None,
        "dataset": trainer.positional[2:] or _given(trainer, ("train_dataset",)) is not None,
        "train": _given(trainer, CONFIG_NAMES) is not None or _unclear(trainer),
    }
    hidden = {part for part, is_given in given.items() if trainer.open or is_given}
    return hidden | {"peft", "quantization"} if _has_unseen_model(trainer) else hidden


def _has_unseen_model(trainer: LibraryCall) -> bool:
    """True if a trainer's model may have been made with adapters, or quantized."""
    model = _given(trainer, ("model",)) or next(iter(trainer.positional), None)
    return not isinstance(model, str | None) and _loaded(model) is None


def _adapter(value: Any) -> ObjectValue | None:
    """Return the config of an adapter; what a function gives may be none, or any."""
    thing = _thing(value)
    return thing if thing and thing.is_instance and thing.path.endswith("Config") else None


def _given(library_call: LibraryCall, names: tuple[str, ...]) -> Any:
    found = (library_call.arguments[name].value for name in names if name in library_call.arguments)
    return next(found, None)


def _thing(value: Any) -> ObjectValue | None:
    return value if isinstance(value, ObjectValue) and value.library_call else None


def _unclear(trainer: LibraryCall) -> bool:
    """True if a config may be among the arguments by position."""
    return any(not isinstance(value, ObjectValue | str | None) for value in trainer.positional[1:])


def _is_config(value: Any) -> bool:
    thing = _thing(value)
    name = thing.path.rpartition(".")[2] if thing else ""
    mine = thing is not None and thing.path.partition(".")[0] in TRAINERS
    return mine and name.endswith(CONFIG_ENDINGS) and name not in NO_CONFIGS


def _config_of(trainer: LibraryCall) -> ObjectValue | None:
    given = [trainer.arguments[name].value for name in CONFIG_NAMES if name in trainer.arguments]
    return next((value for value in (*given, *trainer.positional) if _is_config(value)), None)


def _first_config(library_call: LibraryCall) -> ObjectValue | None:
    values = (*library_call.positional[1:], *(slot.value for slot in library_call.arguments.values()))
    return next((thing for thing in map(_thing, values) if thing and thing.path.startswith("peft.")), None)


def _find_model(trainer: LibraryCall) -> ObjectValue | None:
    value = _given(trainer, ("model",))
    if value is None and trainer.positional:
        value = trainer.positional[0]
    return _thing(value.thing if isinstance(value, Member) else value)


def _quantization(
    reading: ReadingState, trainer: LibraryCall, config: ObjectValue | None, model: ObjectValue | None
) -> ObjectValue | None:
    given = (trainer.arguments, _arguments(model), _model_settings(reading, config))
    slots = (each.get("quantization_config") for each in given)
    things = (_thing(slot.value) for slot in slots if slot)
    return next((thing for thing in things if thing and thing.path.endswith("Config")), None)


def _arguments(thing: ObjectValue | None) -> Mapping[Any, Slot]:
    """Return the arguments of the call that made a thing."""
    return thing.library_call.arguments if thing and thing.library_call else {}


def _model_settings(reading: ReadingState, config: ObjectValue | None) -> Mapping[Any, Slot]:
    """Return the arguments with which a trainer loads its model itself."""
    slot = _arguments(config).get("model_init_kwargs")
    return reading.entries(slot.value.address).slots if slot and isinstance(slot.value, Ref) else {}


def _dataset(value: Any) -> ObjectValue | None:
    """Return the call that loads a dataset, behind everything that is done to it since."""
    for _ in range(DEEPEST):
        if isinstance(value, Member):
            value = value.thing
        if not isinstance(value, ObjectValue) or value.library_call is None:
            return None
        if value.path == "datasets.load_dataset":
            return value
        value = value.library_call.receiver
    return None
