"""LLaMA-Factory's files: transformers' Seq2SeqTrainingArguments, beside arguments of its own.

Source: LLaMA-Factory 0.9.5, `hparams/{training,model,data,finetuning}_args.py`.
"""

from typing import Any, Final

from holdfast.adapters.readers.foreign.mapping import mapped, passed_on
from holdfast.core.document import Document

METHODS: Final = {"sft": "sft", "pt": "sft", "dpo": "dpo", "kto": "kto", "rm": "reward", "ppo": "ppo"}
OWN: Final = frozenset({"overwrite_output_dir"})
"""Arguments that transformers dropped, and LLaMA-Factory kept for itself."""
KEYS: Final = {
    "model_name_or_path": "model.path",
    "model_revision": "model.revision",
    "trust_remote_code": "model.trust_remote_code",
    "lora_rank": "peft.r",
    "lora_alpha": "peft.lora_alpha",
    "lora_dropout": "peft.lora_dropout",
    "lora_target": "peft.target_modules",
}


def read_llama_factory(document: Document) -> Document:
    """Return a LLaMA-Factory file as a call of the training arguments that it fills."""
    call = passed_on(document, "transformers.Seq2SeqTrainingArguments", document.values, own=OWN)
    keys = {**{name: f"train.{name}" for name in document.values}, **KEYS}
    method = METHODS.get(str(document.get("stage")))
    constants: dict[str, Any] = {"method": method} if method else {}
    return mapped(document, keys, [call], constants)
