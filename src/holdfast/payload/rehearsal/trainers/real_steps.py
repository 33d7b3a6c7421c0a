"""The steps that the whole training has, and what of it they are too few for: an evaluation, a choice of the best, a checkpoint."""

import math
from collections.abc import Mapping
from typing import Any

from ..events import EventWriter
from ..rows.part import is_mixed, whole_rows

BOUND = "_holdfast_most_steps"
"""Attribute of a trainer's arguments: the steps that its whole training has at most."""
BATCH = ("per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs")
PAIRED = 2
"""Rows that KTO makes of one pair."""
BEST = "best-metric-not-logged"


def most_steps(requested: Mapping[str, Any], dataset: Any, kinds: list[str]) -> int | None:
    """Return an upper bound for the number of optimizer steps; None if it is unknown.

    Args:
        requested: A trainer's arguments.
        dataset: What it trains on, as the script gives it.
        kinds: Names of the trainer's classes.
    """
    most = requested.get("max_steps")
    if isinstance(most, int) and most > 0:
        return int(most)
    rows = _most_rows(requested, dataset, kinds)
    counts = [requested.get(name) for name in BATCH]
    if rows == math.inf or not all(map(_is_positive, counts)):
        return None
    batch, accumulated, epochs = map(float, counts)  # type: ignore[arg-type]  # none of them is None
    return math.ceil(math.ceil(math.ceil(rows / batch) / accumulated) * epochs)


def _most_rows(requested: Mapping[str, Any], dataset: Any, kinds: list[str]) -> float:
    """Return the rows of an epoch; infinite if they are not known."""
    generates, packs = requested.get("num_generations"), requested.get("packing")
    is_counted = hasattr(dataset, "column_names") and hasattr(dataset, "__len__")
    if generates or packs or not is_counted or is_mixed(dataset):
        return math.inf
    return whole_rows(dataset) * (PAIRED if "KTOTrainer" in kinds else 1)


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and value > 0


def look_at_intervals(trainer: Any, requested: Mapping[str, Any], events: EventWriter) -> None:
    """Report evaluations that never come, or too seldom for what depends on them."""
    _look_at_metric(requested, events)
    if trainer.eval_dataset is not None and requested.get("eval_strategy") == "no" and requested.get("eval_steps"):
        because = f'`eval_steps={requested["eval_steps"]:g}` is read only with `eval_strategy="steps"`, and that is "no": training does not evaluate'
        events.warning("invalid-config-value", "evaluate", because)
    steps = getattr(trainer.args, BOUND, None)
    if steps and requested.get("eval_strategy") == "steps":
        _look_at_evaluations(trainer, steps, requested, events)


def _look_at_metric(requested: Mapping[str, Any], events: EventWriter) -> None:
    metric = str(requested.get("metric_for_best_model") or "")
    if requested.get("greater_is_better") and metric.endswith("loss"):
        because = f"`greater_is_better` is True, but lower is better for `{metric}`: the worst model is kept"
        events.fault("save-eval-strategy-mismatch", "evaluate", because, fix="Write `greater_is_better=False`.")


def _look_at_evaluations(trainer: Any, steps: int, requested: Mapping[str, Any], events: EventWriter) -> None:
    """Report evaluations every so many steps that come too late or too seldom; `steps` are those of the whole training."""
    every, delay = requested.get("eval_steps") or requested.get("logging_steps"), requested.get("eval_delay") or 0
    chooses = _chooses_best(requested)
    if delay > steps:
        _report_delay(delay, steps, events, chooses=chooses)
    elif isinstance(every, int) and every > 1:
        _look_at_choices(trainer, steps, every, events, chooses=chooses)


def _chooses_best(requested: Mapping[str, Any]) -> bool:
    return bool(requested.get("load_best_model_at_end")) or requested.get("save_strategy") == "best"


def _report_delay(delay: float, steps: int, events: EventWriter, *, chooses: bool) -> None:
    because = f"`eval_delay` is {delay:g}, and there are {steps} steps: nothing is evaluated"
    if chooses:
        fix = f"Make `eval_delay` smaller than {steps}."
        events.fault(BEST, "evaluate", f"{because}, and no checkpoint is the best", fix=fix)
    else:
        events.warning(BEST, "evaluate", because)


def _look_at_choices(trainer: Any, steps: int, every: int, events: EventWriter, *, chooses: bool) -> None:
    """Report evaluations that are too few to choose from; transformers 5 evaluates once more at the last step."""
    count = math.ceil(steps / every)
    patience = max(
        (getattr(each, "early_stopping_patience", 0) for each in trainer.callback_handler.callbacks), default=0
    )
    often = f"with `eval_steps={every}` and {steps} steps there {'is at most 1 evaluation' if count == 1 else f'are at most {count} evaluations'}"
    if patience >= count:
        events.warning(
            BEST, "evaluate", f"{often}: early stopping waits for {patience} after the first, and never stops"
        )
    elif chooses and count == 1:
        events.warning(BEST, "evaluate", f"{often}, the last: the best model is the last one")
