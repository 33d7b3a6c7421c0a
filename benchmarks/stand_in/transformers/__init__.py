"""The names that a training script imports."""

import torch  # noqa: F401 - which the runtime asks about GPUs and ranks
from transformers.trainer import Trainer, TrainerCallback, TrainingArguments

__version__ = "5.23.0"
__all__ = ["Trainer", "TrainerCallback", "TrainingArguments"]
