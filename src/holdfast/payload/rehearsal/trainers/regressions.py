"""A regression on the numbers of two classes: `num_labels=1` gives a classifier one output, and the loss of a regression.

Source: `ForSequenceClassificationLoss` of transformers 5.23, tried with labels 0 and 1: it trains with mean squared error, without a word.
"""

from typing import Any

from ..events import EventWriter
from ..libraries import torch

UNSET = "_holdfast_unset_problem"
CLASSES = "_holdfast_classes"
BECAUSE = (
    "`num_labels=1` makes the model a regression, trained with mean squared error on labels that are 0 and 1: for two classes set "
    "`num_labels=2`; where a regression is meant, `problem_type='regression'` says so"
)


def look_at_classes(inputs: Any, trainer: Any) -> None:
    """Take down the labels of a model with one output whose problem is not said, as long as they are whole numbers."""
    config = getattr(trainer.model, "config", None)
    if UNSET not in vars(trainer):
        setattr(trainer, UNSET, getattr(config, "num_labels", 0) == 1 and getattr(config, "problem_type", "") is None)
    labels: Any = inputs.get("labels") if hasattr(inputs, "get") else None
    if vars(trainer)[UNSET] and torch.is_tensor(labels) and not labels.is_floating_point() and labels.dim() == 1:
        setattr(trainer, CLASSES, vars(trainer).get(CLASSES, set()) | set(labels.tolist()))


def report_regression(trainer: Any, events: EventWriter) -> None:
    """Warn of a model that made a regression of the classes 0 and 1 by itself."""
    if vars(trainer).get(CLASSES) == {0, 1} and trainer.model.config.problem_type == "regression":
        events.warning("invalid-config-value", "model", BECAUSE)
