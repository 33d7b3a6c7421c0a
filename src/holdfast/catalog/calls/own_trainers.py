"""Trainers of a program's own: what remains the library's of those that change only how a step is computed."""

from typing import Final

from holdfast.core.job.calls import Call, OverriddenMethod
from holdfast.core.job.document import Document

OF_A_STEP: Final = frozenset(
    {"compute_loss", "training_step", "create_optimizer", "create_scheduler", "create_optimizer_and_scheduler"}
)
"""Methods that read batches as they come: they prepare no rows, and compute no metrics."""


def changes_steps_alone(override: OverriddenMethod) -> bool:
    """True if the class of an overriding method defines nothing that prepares rows or computes metrics."""
    return override.beside <= OF_A_STEP


def measures_as_library(job: Document, trainer: Call) -> bool:
    """True if a trainer is a library's class, or one of the program that is seen to change only how a step is computed."""
    own = [each for each in job.overrides if each.label.partition(".")[0] == trainer.label]
    return all(map(changes_steps_alone, own)) and (bool(own) or trainer.label == trainer.name)
