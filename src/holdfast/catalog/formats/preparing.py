"""Settings with which a trainer does something else to its rows."""

from typing import Final

PREPARING: Final = (
    "train.dataset_kwargs",
    *(f"trainer.{name}" for name in ("formatting_func", "data_collator", "rollout_func", "environment_factory")),
)
"""Keys of a program. Where one is set, the columns of its data need not be those that the trainer reads."""
