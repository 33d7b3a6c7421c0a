"""The record of a rehearsed training that `plan` corrects its estimate with."""

from typing import Any, Final

from holdfast.core.rehearse.rehearsal import PartResult
from holdfast.core.rehearse.rehearsed_training import RehearsedTraining
from holdfast.core.rows.row_lengths import RowLengths

SETTINGS: Final = (
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "num_train_epochs",
    "max_steps",
    "dataloader_drop_last",
    "num_generations",
    "generation_batch_size",
    "num_iterations",
    "logging_steps",
    "eval_strategy",
    "eval_steps",
    "eval_on_start",
    "save_strategy",
    "save_steps",
    "save_total_limit",
    "push_to_hub",
)
"""Arguments of a trainer that decide how often it steps, evaluates, saves and pushes."""
COUNTS_ROWS: Final = frozenset({"SFTTrainer", "DPOTrainer", "GRPOTrainer", "RLOOTrainer"})
"""Trainers whose epoch goes over the rows that they are given, unless they are packed. KTO's splits pairs, and the reward model's
leaves long rows out."""


def record_training(whole: PartResult, lengths: RowLengths | None) -> RehearsedTraining | None:
    """Return the record of a training; None if the script trains several times, or never.

    Args:
        whole: The part that went the whole path.
        lengths: How long the rows are that the script gave its trainer; None if they were not measured.
    """
    trainings = whole.facts("training")
    if len(trainings) != 1:
        return None
    arguments, trainer = trainings[0].get("arguments", {}), next(iter(trainings[0].get("trainer", ())), "")
    counted = trainer in COUNTS_ROWS and not arguments.get("packing")
    return RehearsedTraining(
        settings={name: arguments[name] for name in SETTINGS if name in arguments},
        units=lengths.units if lengths else _rows(whole, "train") if counted else None,
        eval_rows=_rows(whole, "eval"),
        lengths=lengths,
    )


def _rows(whole: PartResult, role: str) -> int | None:
    """Return the rows that the script gave its trainer for a role, of all its datasets together; None if one is not counted."""
    found: list[Any] = [each["rows"] for each in whole.facts("rows") if each["role"] == role]
    return sum(found) if found and None not in found else None
