"""What the calls of a job say together: its method, model and dataset, and which of its settings cannot be relied on."""

from collections.abc import Mapping
from typing import Any, Final

from holdfast.adapters.readers.script.document_builder import HIDDEN, DocumentBuilder, PartialSettings
from holdfast.adapters.readers.script.guards import BY_UNSLOTH
from holdfast.adapters.readers.script.roles import JobCalls
from holdfast.adapters.readers.script.values import (
    CHANGED,
    ObjectValue,
)
from holdfast.catalog.calls.constructions import CHANGED_BY_WRAPPER
from holdfast.core.job.calls import (
    Call,
)
from holdfast.core.job.document import Unknown
from holdfast.core.job.expressions import UNKNOWN

OUTPUT: Final = "output_dir"
PARTS: Final = ("train", "trainer", "peft", "quantization", "model", "dataset")


def add_job(page: DocumentBuilder, job: JobCalls, calls: Mapping[str, Call]) -> None:
    """Add what the parts say together: method, model, dataset; and hide what cannot be relied on."""
    trainer = calls.get("trainer")
    if trainer is None:
        return
    page.values["method"] = trainer.name.removesuffix("Trainer").lower()
    page.values["trainer"]["class"] = trainer.path
    page.places["method",] = page.places["trainer", "class"] = trainer.name_place
    for part, thing in job.things.items():
        _apply_changes(page, part, thing)
    page.values |= dict.fromkeys(sorted(job.hidden), HIDDEN)
    _add_output(page, calls)
    _add_model(page, calls)
    _add_dataset(page, calls)
    for part in PARTS:
        _hide_uncertain(page, part, trainer, calls.get(part))


def _hide_uncertain(page: DocumentBuilder, part: str, trainer: Call, call: Call | None) -> None:
    """Hide what a part says where that holds under a condition alone."""
    because = _condition(part, trainer, call)
    if because and part in page.values:
        given = _given_settings(part, page.values[part], trainer, call)
        page.values[part] = given or Unknown(because)


def _condition(part: str, trainer: Call, call: Call | None) -> str:
    """Return the condition under which a part is what it says; Unsloth's classes change nothing of the data."""
    because = trainer.guard.because
    if because and not (part == "dataset" and because == BY_UNSLOTH):
        return because
    return call.guard.because if call else ""


def _given_settings(part: str, settings: Any, trainer: Call, config: Call | None) -> Mapping[str, Any] | None:
    """Return the settings that a wrapped config is given, which its wrapper hands on; None where these are not all that is known."""
    if part != "train" or config is None or not isinstance(settings, dict):
        return None
    if not config.guard.wraps or trainer.guard.because != config.guard.because:
        return None
    given = PartialSettings({name: value for name, value in settings.items() if name not in CHANGED_BY_WRAPPER})
    given.hidden = Unknown(config.guard.because)
    return given


def _apply_changes(page: DocumentBuilder, part: str, thing: ObjectValue) -> None:
    """Hide the settings that are changed after the config was made."""
    entries = page.reading.entries(thing.address)
    settings = page.values[part]
    for name in entries.slots:
        settings[name] = CHANGED
    if entries.open:
        page.values[part] = Unknown(CHANGED.because)


def _add_output(page: DocumentBuilder, calls: Mapping[str, Call]) -> None:
    """Add the folder that a config is given by position, as the first argument of all of them."""
    call, settings = calls.get("train"), page.values.get("train", {})
    if call is None or not call.positional or isinstance(settings, Unknown) or OUTPUT in settings.keys():  # noqa: SIM118 - PartialSettings holds any
        return
    settings[OUTPUT] = call.positional[0]
    page.places["train", OUTPUT] = call.place


def _add_model(page: DocumentBuilder, calls: Mapping[str, Call]) -> None:
    """Add what is said of the model: by the call that loads it, or by the trainer's config, which then has it loaded."""
    trainer, call = calls["trainer"], calls.get("model")
    given = trainer.arguments.get("model", next(iter(trainer.positional), None))
    settings = _model_settings(page, trainer)
    kind = dict if _is_shown(given, settings, call) else PartialSettings
    model = page.values["model"] = kind(call.arguments if call else {})
    _add_model_path(page, trainer, call, given)
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            model.setdefault(name, value)
    _alias(page, "model", "torch_dtype", "dtype")


def _is_shown(given: Any, settings: Any, call: Call | None) -> bool:
    """True if all that a model is loaded with can be seen: a trainer that is given its name loads it itself."""
    if isinstance(given, str | None):
        return isinstance(settings, Mapping)
    return call is not None and not call.open


def _add_model_path(page: DocumentBuilder, trainer: Call, call: Call | None, given: Any) -> None:
    if call is None:
        page.values["model"]["path"] = given if isinstance(given, str) else UNKNOWN
        page.places["model", "path"] = page.places.get(("trainer", "model"), trainer.place)
    elif call.positional:
        page.values["model"]["path"] = call.positional[0]
        page.places["model", "path"] = call.place
    else:
        _alias(page, "model", "pretrained_model_name_or_path", "path")


def _model_settings(page: DocumentBuilder, trainer: Call) -> Any:
    """Return the arguments with which a trainer loads its model itself; `Unknown` where they cannot be seen."""
    if "model_init_kwargs" in trainer.arguments:  # up to TRL 0.12
        return trainer.arguments["model_init_kwargs"] or {}
    train = page.values.get("train", {})
    if isinstance(train, Unknown):
        return train
    return (train["model_init_kwargs"] if "model_init_kwargs" in train else None) or {}  # noqa: SIM401 - PartialSettings holds any


def _alias(page: DocumentBuilder, part: str, name: str, other: str) -> None:
    """Give a setting its usual name too."""
    if other in page.values[part].keys() or name not in page.values[part].keys():  # noqa: SIM118 - PartialSettings holds any
        return
    page.values[part][other] = page.values[part][name]
    if (part, name) in page.places:
        page.places[part, other] = page.places[part, name]


def _add_dataset(page: DocumentBuilder, calls: Mapping[str, Call]) -> None:
    call = calls.get("dataset")
    if call is None:
        return
    settings = page.values["dataset"]
    for name, value in zip(("path", "name"), call.positional, strict=False):
        settings.setdefault(name, value)
        page.places.setdefault(("dataset", name), call.place)
    _alias(page, "dataset", "name", "config")
