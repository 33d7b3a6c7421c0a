"""LLaMA-Factory's files: transformers' Seq2SeqTrainingArguments, beside arguments of its own.

Source: LLaMA-Factory at commit ff6d4d12e of 2026-08-18, `hparams/{training,model,data,finetuning}_args.py` and `pyproject.toml`.
"""

from typing import Any, Final

from holdfast.adapters.readers.foreign.mapping import installed_by, mapped, passed_on
from holdfast.catalog.calls.parsed_fields import ever_takes
from holdfast.core.job.document import Document

ARGUMENTS: Final = "transformers.Seq2SeqTrainingArguments"
METHODS: Final = {"sft": "sft", "pt": "sft", "dpo": "dpo", "kto": "kto", "rm": "reward", "ppo": "ppo"}
OWN: Final = frozenset({"overwrite_output_dir"})
"""Arguments that transformers dropped, and LLaMA-Factory kept for itself."""
REQUIREMENTS: Final = (
    "transformers>=4.55.0,<=5.8.0,!=4.57.0,!=5.6.0",
    "datasets>=2.16.0,<=4.0.0",
    "accelerate>=1.3.0,<=1.11.0",
    "peft>=0.18.0,<=0.18.1",
    "trl>=0.18.0,<=0.24.0",
)
"""What it runs with."""
KEYS: Final = (
    ("model_name_or_path", "model.path"),
    ("model_revision", "model.revision"),
    ("trust_remote_code", "model.trust_remote_code"),
    ("lora_rank", "peft.r"),
    ("lora_alpha", "peft.lora_alpha"),
    ("lora_dropout", "peft.lora_dropout"),
    ("lora_target", "peft.target_modules"),
)


def read_llama_factory(document: Document) -> Document:
    """Return a LLaMA-Factory file as a call of the training arguments that it fills."""
    names = [name for name in document.values if ever_takes(ARGUMENTS, name)]
    call = passed_on(document, ARGUMENTS, names, own=OWN)
    method = METHODS.get(str(document.get("stage")))
    constants: dict[str, Any] = {"method": method} if method else {}
    keys = (*((name, f"train.{name}") for name in names), *KEYS)
    return mapped(document, keys, [call], constants | installed_by("LLaMA-Factory", REQUIREMENTS))
