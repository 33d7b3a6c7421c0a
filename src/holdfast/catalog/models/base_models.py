"""The model that a job trains: where it is named, and who loads it how.

A job file and a command of TRL's leave the loading to the trainer; a script does that, or loads it with `from_pretrained` before.

Source: trl 1.16, `create_model_from_path`: a trainer that is given a name loads the class that `architectures` of the model's
config names, in 1.0 likewise; `RewardTrainer` takes `AutoModelForSequenceClassification`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from holdfast.catalog.models.model_settings import INIT
from holdfast.core.check.facts import Dataset, ModelFacts
from holdfast.core.check.finding import Finding, Fix, MissingFactError, Severity
from holdfast.core.job.calls import Call, CallResult, LibraryName
from holdfast.core.job.document import Document, parse_key
from holdfast.core.rows.columns import ListOf, Struct, Type
from holdfast.core.text.places import Place

LOADED: Final = "pretrained_model_name_or_path"
LOADER: Final = ".from_pretrained"
TOKENIZER: Final = "Tokenizer.from_pretrained"
TOKENIZERS: Final = ("processing_class", "tokenizer")
"""Arguments by which a trainer is given a tokenizer, under its new and its old name."""
NAMED_BY: Final = "train.model_name_or_path"
GENERATING: Final = ("sft", "dpo", "kto", "grpo", "rloo")
"""Methods whose trainers train a model that gives words; that of `reward` puts a head of its own on it."""
ELSEWHERE: Final = frozenset({"variant", "subfolder", "gguf_file", "state_dict", "config"})
"""Arguments of `from_pretrained` by which other files are loaded than usual."""
CONVERSATIONS: Final = ("messages", "prompt", "completion", "chosen", "rejected")
"""Columns that may hold conversations."""
DATA: Final = re.compile(r"datasets\.(?:load_dataset|(?:Dataset(?:Dict)?\.)?load_from_disk|Dataset\.from_\w+)")
"""What loads a dataset."""
KEEPING: Final = frozenset(
    {
        "",
        "select",
        "shuffle",
        "take",
        "skip",
        "train_test_split",
        "filter",
        "sort",
        "shard",
        "repeat",
        "flatten_indices",
    }
    | {"rename_column", "rename_columns", "remove_columns", "select_columns"}
)
"""Methods of a dataset that keep what stands in its columns; the facts of a job's data tell how these are called afterwards."""
KEYS: Final[Mapping[str, str]] = {
    "target_modules": "lora_target_modules",
    "modules_to_save": "lora_modules_to_save",
    "target_parameters": "lora_target_parameters",
}
"""What LoRA settings are called on a command line of TRL's."""


@dataclass(frozen=True, slots=True)
class Base:
    """How a job names the model that it trains.

    Attributes:
        name: The name, of a repository or a folder.
        key: Where it is written.
        place: Where that is, if the key does not tell.
        loader: The call of `from_pretrained` that loads it; None if the trainer does.
    """

    name: str
    key: str
    place: Place | None = None
    loader: Call | None = None

    def finding(self, message: str, fix: Fix | None = None, severity: Severity | None = None) -> Finding:
        """Return a finding about the model, where it is named."""
        return Finding(self.key, message, fix, severity, place=self.place)

    @property
    def by_name(self) -> bool:
        """Whether the trainer is given its name, and loads it."""
        return self.loader is None

    @property
    def class_name(self) -> str:
        """The class that loads it, such as `AutoModelForCausalLM`; empty if the trainer does."""
        return self.loader.path.removesuffix(LOADER).rpartition(".")[2] if self.loader else ""


def base_of(job: Document, model: ModelFacts) -> Base | None:
    """Return the model that a job surely trains with TRL; None if it names none, or what goes wrong is caught.

    Args:
        job: The job.
        model: What is known of the one model that it names; if that is another than the one it trains, there is nothing to tell.
    """
    base = _named_by(job)
    repo = model.repo
    same = base is None or repo is None or _last(repo.name) == _last(base.name)
    return base if same else None


def _last(name: str) -> str:
    """Return the name of a repository without its owner; `gpt2` has an owner by now."""
    return name.rpartition("/")[2].lower()


def _named_by(job: Document) -> Base | None:
    if job.kind == "job":
        name = job.get("model.path", None)
        return (
            Base(name, "model" if isinstance(job.values.get("model"), str) else "model.path")
            if _is_name(name)
            else None
        )
    command = next((call for call in job.calls if call.path.startswith("trl ")), None)
    if command is not None:
        name = command.arguments.get("model_name_or_path")
        return Base(name, NAMED_BY) if isinstance(name, str) and not command.open else None
    return _of_script(job)


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and bool(name)


def trainer_of_trl(job: Document) -> Call | None:
    """Return the call of a TRL trainer of its own methods, if it is surely made."""
    trainer = job.call("trainer")
    if trainer is None or trainer.package != "trl" or trainer.own or _is_held(trainer):
        return None
    return trainer


def _is_held(call: Call) -> bool:
    return bool(call.guard.because or call.guard.catches)


def _of_script(job: Document) -> Base | None:
    trainer = trainer_of_trl(job)
    if trainer is None or job.get("method", None) is None:
        return None
    model = trainer.arguments.get("model", next(iter(trainer.positional), None))
    if isinstance(model, str):
        return _named(job, trainer, "model", model)
    loader = job.call("model")
    if loader is None or not loader.path.endswith(LOADER) or loader.package != "transformers" or _is_held(loader):
        return None
    name = loader.arguments.get(LOADED, next(iter(loader.positional), None))
    return _named(job, loader, LOADED, name, loader) if isinstance(name, str) else None


def _named(job: Document, call: Call, argument: str, name: str, loader: Call | None = None) -> Base:
    last: str | int = argument if argument in call.arguments else 0
    key = f"{call.key}.{last}"
    return Base(name, key, None if (*parse_key(call.key), last) in job.places else call.name_place, loader)


def is_plain(job: Document, base: Base) -> bool:
    """True if the usual files of a model are loaded, as far as can be seen."""
    init = job.get(INIT, None) if base.by_name else None
    given = set(base.loader.arguments if base.loader else init if isinstance(init, Mapping) else ())
    return not ELSEWHERE & given and not (base.loader and base.loader.open)


def trusts_code(job: Document, base: Base) -> bool:
    """True if a job lets a model's own code run.

    Raises:
        MissingFactError: The source hides it.
    """
    if base.loader is not None and base.loader.open:
        raise MissingFactError("trust_remote_code", "it may be among arguments that the source does not show")
    return any(value is True or (isinstance(value, str) and value.lower() == "true") for value in _trust(job, base))


def _trust(job: Document, base: Base) -> list[Any]:
    """Return the values that a job gives `trust_remote_code`."""
    section = "model" if base.loader or job.kind != "script" else "train"
    given = [job.get(f"{section}.trust_remote_code", None)]
    init = job.get(INIT, None) if job.kind != "job" and base.by_name else None
    return [*given, init.get("trust_remote_code")] if isinstance(init, Mapping) else given


def adapts(job: Document) -> bool:
    """True if a job trains an adapter instead of the model's own weights.

    Raises:
        MissingFactError: The source hides it.
    """
    if job.kind == "command":
        return bool(job.get("train.use_peft", default=False))
    given = job.get("trainer.peft_config", None)
    return given is not None or job.get("peft", None) is not None


def lora(job: Document) -> Mapping[str, Any] | None:
    """Return the settings of a job's LoRA adapter by peft's names; None if it trains none, or one of another kind.

    Raises:
        MissingFactError: The source hides whether there is one.
    """
    if job.kind == "command":
        return _lora_of_command(job)
    made, found = job.call("peft"), job.get("peft", None)
    if made is None and isinstance(found, Mapping):
        return found
    if made is None or made.path != "peft.LoraConfig" or made.open or made.positional or made.own or _is_held(made):
        return None
    return found if isinstance(found, Mapping) else made.arguments


def _lora_of_command(job: Document) -> Mapping[str, Any] | None:
    given: Mapping[str, Any] = job.get("train", {})
    if not job.get("train.use_peft", default=False) or any(call.open for call in job.calls):
        return None
    return {name: _one(given[flag]) for name, flag in KEYS.items() if flag in given}


def _one(value: Any) -> Any:
    """Return the value that TRL makes of a list on the command line: a single word is not a list, but an expression."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def lora_key(job: Document, name: str) -> str:
    """Return the key of a LoRA setting."""
    return f"train.{KEYS[name]}" if job.kind == "command" else f"peft.{name}"


def quantization_class(job: Document) -> str | None:
    """Return the class by which a job quantizes the weights while they are loaded; None if it does not.

    Raises:
        MissingFactError: The source hides it.
    """
    made = job.call("quantization")
    if made is not None:
        return made.name
    given = job.get("quantization", None)
    return "BitsAndBytesConfig" if isinstance(given, Mapping) and any(given.values()) else None


def is_conversational(dataset: Dataset) -> bool:
    """True if a dataset surely holds conversations, as trl recognizes them: lists of messages with role and content.

    Raises:
        MissingFactError: The types of its columns are not known.
    """
    if not dataset.types:
        raise MissingFactError("dataset", "the types of its columns are not known")
    return any(is_messages(dataset.types[name]) for name in CONVERSATIONS if name in dataset.types)


def is_messages(kind: Type) -> bool:
    """True if values of a type are lists of messages, as trl recognizes them: with role and content."""
    fields = kind.of.fields if isinstance(kind, ListOf) and isinstance(kind.of, Struct) else {}
    return {"role", "content"} <= fields.keys()


def rows_are_raw(job: Document) -> bool:
    """True if the trainer gets the rows as the dataset has them, as far as their columns go."""
    if any(job.get(key, None) is not None for key in ("dataset.map", "train.dataset_kwargs")):
        return False
    trainer = job.call("trainer")
    if trainer is None:
        return True
    if trainer.open or trainer.arguments.get("formatting_func") is not None:
        return False
    rows = path_of(trainer.arguments.get("train_dataset")).replace("()", "").replace("[]", "")
    loaded = DATA.match(rows)
    return loaded is not None and set(rows[loaded.end() :].split(".")) <= KEEPING


def uses_own_tokenizer(job: Document, base: Base) -> bool:
    """True if a trainer surely works with the tokenizer that comes with the model, as it is saved."""
    if not base.by_name or job.get("model.chat_template", None) is not None:
        return False
    trainer = job.call("trainer")
    given = () if trainer is None else (trainer.open, *map(trainer.arguments.get, TOKENIZERS))
    return not any(each not in (None, False) for each in given)


def writes_as_saved(job: Document, base: Base) -> bool:
    """True if a trainer surely writes conversations out by the chat template that is saved with the model.

    It does with a tokenizer that the program loads by the model's name and gives no template of its own.
    """
    if uses_own_tokenizer(job, base):
        return True
    trainer = job.call("trainer")
    if trainer is None or trainer.open or job.get("model.chat_template", None) is not None:
        return False
    given = [trainer.arguments[name] for name in TOKENIZERS if name in trainer.arguments]
    if given.count(None) == len(given):
        return not base.by_name  # the trainer loads it by the name that is in the model's config
    return _is_saved_tokenizer(job, base, given[0])


def _is_saved_tokenizer(job: Document, base: Base, tokenizer: Any) -> bool:
    """True if a tokenizer is the one that is saved with the model, with its own template."""
    loader = job.call(tokenizer.key) if isinstance(tokenizer, CallResult) else None
    if loader is None or loader.package != "transformers" or not loader.path.endswith(TOKENIZER) or _is_held(loader):
        return False
    name = loader.arguments.get(LOADED, next(iter(loader.positional), None))
    plain = not loader.open and not {"chat_template", "subfolder", "*"} & (loader.arguments.keys() | loader.changed)
    return name == base.name and plain and not _templated(job, tokenizer)


def _templated(job: Document, tokenizer: CallResult) -> bool:
    """True if a tokenizer is handed to something that may give it a template."""
    handed = (call for call in job.calls if "template" in call.name or "chat_format" in call.name)
    return any(tokenizer in (*call.positional, *call.arguments.values()) for call in handed)


def path_of(value: Any) -> str:
    """Return the path of a thing of a library, or of what one of its calls made; empty for anything else."""
    return value.path if isinstance(value, CallResult | LibraryName) else ""
