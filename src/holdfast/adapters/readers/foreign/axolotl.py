"""axolotl's files. It has a schema of its own and passes on what it made of it: no call of a library's class.

Source: axolotl 0.18, `utils/schemas/{config,training,peft}.py`.
"""

from typing import Any, Final

from holdfast.adapters.readers.foreign.mapping import mapped
from holdfast.core.job.document import Document

SAME: Final = (
    "bf16",
    "eval_steps",
    "eval_strategy",
    "fp16",
    "gradient_accumulation_steps",
    "gradient_checkpointing",
    "hub_model_id",
    "hub_strategy",
    "learning_rate",
    "load_best_model_at_end",
    "max_steps",
    "metric_for_best_model",
    "output_dir",
    "save_steps",
    "save_strategy",
    "save_total_limit",
    "seed",
    "tf32",
    "warmup_steps",
    "weight_decay",
)
"""Settings that have the names and the meanings of transformers' TrainingArguments."""
KEYS: Final = (
    *((name, f"train.{name}") for name in SAME),
    ("micro_batch_size", "train.per_device_train_batch_size"),
    ("eval_batch_size", "train.per_device_eval_batch_size"),
    ("num_epochs", "train.num_train_epochs"),
    ("sequence_len", "train.max_length"),
    ("base_model", "model.path"),
    ("lr_scheduler", "train.lr_scheduler_type"),
    ("trust_remote_code", "model.trust_remote_code"),
    ("datasets.0.path", "dataset.path"),
    ("datasets.0.name", "dataset.config"),
    ("datasets.0.split", "dataset.split"),
    ("lora_r", "peft.r"),
    ("lora_alpha", "peft.lora_alpha"),
    ("lora_dropout", "peft.lora_dropout"),
    ("lora_target_modules", "peft.target_modules"),
    ("load_in_4bit", "quantization.load_in_4bit"),
    ("load_in_8bit", "quantization.load_in_8bit"),
    ("pretraining_dataset.0.path", "dataset.path"),
)


def read_axolotl(document: Document) -> Document:
    """Return an axolotl file under our own keys."""
    method = document.get("rl", "sft")
    constants: dict[str, Any] = {"method": method} if isinstance(method, str) else {}
    return mapped(document, KEYS, [], constants)
