"""Names that other libraries, and people, use for an argument: what was meant by one that no release ever had.

They say only what is suggested: none of them is a claim about a library. The first that a call takes is the one that is meant.
"""

from collections.abc import Container, Mapping
from typing import Final

from holdfast.core.text.nearest import nearest

EPOCHS: Final = ("num_train_epochs",)
BATCH: Final = ("per_device_train_batch_size",)
LENGTH: Final = ("max_length", "max_seq_length")
NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("epochs", "epoch", "num_epochs", "n_epochs", "train_epochs", "max_epochs"), EPOCHS),
    **dict.fromkeys(("lr", "learn_rate"), ("learning_rate",)),
    **dict.fromkeys(("batch_size", "bs", "train_batch_size", "micro_batch_size", "batch"), BATCH),
    **dict.fromkeys(("eval_batch_size",), ("per_device_eval_batch_size",)),
    **dict.fromkeys(("max_seq_len", "max_sequence_length", "seq_length", "seq_len"), LENGTH),
    **dict.fromkeys(("sequence_len", "sequence_length", "context_length", "max_len", "cutoff_len"), LENGTH),
    **dict.fromkeys(("max_tokens", "max_new_tokens"), ("max_completion_length", "max_new_tokens", "response_length")),
    **dict.fromkeys(("warmup", "num_warmup_steps"), ("warmup_steps",)),
    **dict.fromkeys(("scheduler", "lr_scheduler", "schedule"), ("lr_scheduler_type",)),
    **dict.fromkeys(("optimizer",), ("optim",)),
    **dict.fromkeys(("save_every", "save_interval", "checkpoint_every"), ("save_steps",)),
    **dict.fromkeys(("eval_every", "eval_interval"), ("eval_steps",)),
    **dict.fromkeys(("log_every", "log_interval", "log_steps"), ("logging_steps",)),
    **dict.fromkeys(("grad_accum", "grad_accum_steps", "accumulation_steps"), ("gradient_accumulation_steps",)),
    **dict.fromkeys(("grad_acc", "grad_acc_steps", "gradient_accumulation"), ("gradient_accumulation_steps",)),
    **dict.fromkeys(("gradient_clipping", "grad_clip", "clip_grad_norm", "max_norm"), ("max_grad_norm",)),
    **dict.fromkeys(("wd",), ("weight_decay",)),
    **dict.fromkeys(("num_workers", "workers"), ("dataloader_num_workers",)),
    **dict.fromkeys(("temp",), ("temperature",)),
    **dict.fromkeys(("group_size", "n_generations", "num_samples"), ("num_generations",)),
    **dict.fromkeys(("kl_coef", "kl_coeff", "kl_beta", "init_kl_coef"), ("beta", "kl_coef")),
    **dict.fromkeys(("task",), ("task_type",)),
    **dict.fromkeys(("lora_rank", "rnk"), ("r", "lora_r")),
    **dict.fromkeys(("modules", "targets", "lora_targets"), ("target_modules", "lora_target_modules")),
    **dict.fromkeys(("out_dir", "output_path", "save_dir"), ("output_dir",)),
    "dataset": (),
}
"""By name, what is meant; where that is nothing, whatever looks like it is something else."""

VALUES: Final[Mapping[str, Mapping[str, str]]] = {
    "optim": {
        **dict.fromkeys(("adam", "adamw", "AdamW"), "adamw_torch"),
        **dict.fromkeys(("adam8bit", "adam_8bit", "adamw8bit"), "adamw_8bit"),
    },
    "lr_scheduler_type": {
        **dict.fromkeys(("cosine_with_warmup", "cosine_warmup", "cosine_schedule_with_warmup"), "cosine"),
        **dict.fromkeys(("linear_with_warmup", "linear_warmup", "linear_schedule_with_warmup"), "linear"),
    },
}
"""The same of values, by argument."""

TRAINER: Final = "transformers.trainer.Trainer"
TRAINER_METHODS: Final = (
    *("train", "evaluate", "predict", "save_model", "save_state", "push_to_hub", "log_metrics", "save_metrics"),
    *("add_callback", "remove_callback", "create_model_card"),
)
"""The methods of a trainer that scripts call."""
METHODS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("fit", "run", "start", "learn", "finetune", "fine_tune", "run_training", "start_training"), "train"
    ),
    **dict.fromkeys(("eval", "validate", "test", "evaluation"), "evaluate"),
    **dict.fromkeys(("save", "save_pretrained", "save_weights", "save_checkpoint", "save_adapter"), "save_model"),
    **dict.fromkeys(("push", "upload", "push_model_to_hub", "upload_to_hub"), "push_to_hub"),
}
"""Methods of other libraries' trainers, and of models, which no trainer of transformers or TRL has: the one that is meant."""
NEAR: Final = 0.8


def familiar_method(name: str) -> str | None:
    """Return the method of a trainer that is meant by a name which none has; None if it may be something else.

    >>> familiar_method("fit"), familiar_method("trian"), familiar_method("tokenizer")
    ('train', 'train', None)
    """
    return METHODS.get(name) or (None if name in TRAINER_METHODS else nearest(name, TRAINER_METHODS, cutoff=NEAR))


def familiar(name: str, taken: Container[str]) -> str | None:
    """Return the argument that is meant by a familiar name, of those that a call takes; None if none is.

    >>> familiar("epochs", {"num_train_epochs"}), familiar("max_seq_len", {"max_seq_length"}), familiar("foo", {"bar"})
    ('num_train_epochs', 'max_seq_length', None)
    """
    return next((each for each in NAMES.get(name, ()) if each in taken), None)
