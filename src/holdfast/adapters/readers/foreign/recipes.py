"""Recipes: the YAML that `trl sft --config …` and scripts with a TrlParser read into their dataclasses.

A recipe does not name the command that it is for. Its name, its folder or its output folder often do; where they do
not, only the arguments that any trainer takes are compared. Keys that no library ever had may be a script's own: no claim
is made of them.
"""

import re
from typing import Any, Final

from holdfast.adapters.readers.foreign.mapping import mapped, passed_on
from holdfast.catalog.calls.parsed_fields import ever_takes
from holdfast.core.job.document import Document, Unknown

COMMANDS: Final = ("sft", "dpo", "grpo", "reward", "kto", "rloo")
WORD: Final = re.compile(r"[a-z0-9]+")
KEYS: Final = (
    ("model_name_or_path", "model.path"),
    ("model_revision", "model.revision"),
    ("torch_dtype", "model.dtype"),
    ("dtype", "model.dtype"),
    ("attn_implementation", "model.attn_implementation"),
    ("trust_remote_code", "model.trust_remote_code"),
    ("dataset_name", "dataset.path"),
    ("dataset_config", "dataset.config"),
    ("load_in_4bit", "quantization.load_in_4bit"),
    ("load_in_8bit", "quantization.load_in_8bit"),
    ("num_processes", "where.world_size"),
    ("num_machines", "where.nodes"),
)
ARGUMENTS: Final = "transformers.TrainingArguments"
NO_COMMAND: Final = Unknown("the recipe does not say which command reads it: check `trl COMMAND --config` with it")
MARKS: Final = frozenset(
    {
        "per_device_train_batch_size",
        "per_device_eval_batch_size",
        "gradient_accumulation_steps",
        "gradient_checkpointing",
        "num_train_epochs",
        "lr_scheduler_type",
        "warmup_ratio",
        "evaluation_strategy",
        "eval_strategy",
        "save_strategy",
        "load_best_model_at_end",
    }
)
"""What a file has only if it is for these arguments, or for a class that extends them."""


def read_recipe(document: Document) -> Document:
    """Return a recipe as a call of the command that it is for; else of the arguments that any trainer takes."""
    method = find_method(document)
    if method is None and MARKS & document.values.keys():
        names = [name for name in document.values if ever_takes(ARGUMENTS, name)]
        calls = [passed_on(document, ARGUMENTS, names)]
    else:
        label = f"trl {method}" if method else "trl"
        calls = [passed_on(document, f"trl {method or 'any'}", document.values, label=label)]
    keys = (*((name, f"train.{name}") for name in document.values), *KEYS)
    constants: dict[str, Any] = {"method": method or NO_COMMAND}
    return mapped(document, keys, calls, constants)


def find_method(document: Document) -> str | None:
    """Return the one command of TRL that a recipe's name, folder or settings name; None if none or several do."""
    words = [document.path.lower().replace("\\", "/").split("/")[-1]]
    words += [str(document.get(key, "")).lower() for key in ("output_dir", "hub_model_id", "run_name")]
    words += document.path.lower().split("/")[-3:-1]
    for text in words:
        found = [command for command in COMMANDS if command in WORD.findall(text)]
        if len(found) == 1:
            return found[0]
    return None
