"""Settings of a plan in the terms of its target: keys of a job file, flags of a command line, arguments of a script's calls."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from holdfast.catalog.models.base_models import KEYS
from holdfast.catalog.models.model_settings import INIT
from holdfast.core.job.document import Document

TRAIN: Final = "train"
QUANTIZATION: Final = "quantization"
HARDWARE: Final = "where.hardware"
"""An option of `plan` itself."""
NO_FLAG: Final = frozenset({"bnb_4bit_compute_dtype"})
"""Settings that TRL's command line takes from others: it computes in the dtype of the model. Source: trl 1.16.0, get_quantization_config."""
STRATEGY: Final = "where.strategy"
VARIABLES: Final = "environment.variables."
UNDER_NO_CALL: Final = frozenset({"where", VARIABLES.rstrip(".")})
"""What no flag and no call sets."""
COUNTS: Final = {"processes": ("process", "processes"), "nodes": ("machine", "machines")}
"""What the launcher decides, under `where`: a script and the flags of `trl` have no setting for it."""
Value = bool | int | str


def spell_settings(job: Document, settings: Mapping[str, Value]) -> str:
    """Return settings as a person writes them into the target.

    >>> settings = {"train.per_device_train_batch_size": 4, "model.dtype": "bfloat16"}
    >>> spell_settings(Document(path="job.yaml", kind="job", values={}), settings)
    'train.per_device_train_batch_size=4, model.dtype=bfloat16'
    >>> spell_settings(Document(path="", kind="command", values={}), settings)
    '--per_device_train_batch_size 4 --dtype bfloat16'
    >>> spell_settings(Document(path="train.py", kind="script", values={"method": "sft"}), settings)
    "SFTConfig(per_device_train_batch_size=4, model_init_kwargs={'dtype': 'bfloat16'})"
    """
    if job.kind == "command":
        return _joined(" ", _flags(settings), settings)
    if job.kind == "script":
        return _joined(", ", _calls(job, settings), settings)
    return ", ".join(f"{key}={value}" for key, value in settings.items())


def spell_key(job: Document, key: str) -> str:
    """Return the name of a setting in the target.

    >>> spell_key(Document(path="", kind="command", values={}), "train.max_length")
    '--max_length'
    >>> spell_key(Document(path="", kind="command", values={}), "peft.target_modules")
    '--lora_target_modules'
    """
    area, _, name = key.rpartition(".")
    if job.kind not in ("command", "script") or not area:
        return key
    if key == HARDWARE or (job.kind == "command" and area != "where"):
        return f"--{KEYS.get(name, name)}"
    return f"{name} of {_config(job)}" if area == TRAIN else name


def _joined(separator: str, words: Iterator[str], settings: Mapping[str, Value]) -> str:
    placed = [
        f"{value} {one if value == 1 else many}"
        for name, (one, many) in COUNTS.items()
        if (value := settings.get(f"where.{name}")) is not None
    ]
    if strategy := settings.get(STRATEGY):
        placed.append(f"strategy {strategy}")
    variables = [
        f"{key.removeprefix(VARIABLES)}={value}" for key, value in settings.items() if key.startswith(VARIABLES)
    ]
    return ", ".join(filter(None, [*variables, separator.join(words), *placed]))


def _flags(settings: Mapping[str, Value]) -> Iterator[str]:
    """Yield the flags of `trl`, which have the names of the settings themselves."""
    for key, value in settings.items():
        area, _, name = key.rpartition(".")
        if area not in UNDER_NO_CALL and name not in NO_FLAG:
            yield f"--{name}" if value is True else f"--{name} {value}"


def _calls(job: Document, settings: Mapping[str, Value]) -> Iterator[str]:
    """Yield the calls of a script with the arguments that they need."""
    config, model, bits = (_under(area, settings) for area in (TRAIN, "model", QUANTIZATION))
    if loads := job.call("model"):
        calls = {_config(job): config, loads.path.rpartition(".")[2]: model}
    else:
        calls = {_config(job): {**config, **({INIT.rpartition(".")[2]: model} if model else {})}}
    for name, arguments in (*calls.items(), ("LoraConfig", _under("peft", settings)), ("BitsAndBytesConfig", bits)):
        if arguments:
            yield f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def _under(area: str, settings: Mapping[str, Value]) -> dict[str, Any]:
    """Return the settings under a key, by the rest of their names."""
    return {key.rpartition(".")[2]: value for key, value in settings.items() if key.startswith(f"{area}.")}


def _config(job: Document) -> str:
    """Return the class of the trainer's config."""
    call, method = job.call(TRAIN), job.get("method", None)
    if call is not None:
        return call.path.rpartition(".")[2]
    if not isinstance(method, str):
        return "TrainingArguments"
    return f"{method.capitalize() if method == 'reward' else method.upper()}Config"
