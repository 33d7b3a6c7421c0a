"""Whether the attempt after a remedy trains what the remedy promised, by what both trainers reported."""

from collections.abc import Iterator
from itertools import pairwise

from holdfast.core.run_state import RunState
from holdfast.core.training_event import TrainingStarted

ROWS = ("per_device_train_batch_size", "gradient_accumulation_steps")


def broken_promises(state: RunState) -> Iterator[str]:
    """Yield what the newest attempt does otherwise than the remedy before it said; nothing before it has begun to train."""
    for before, after in pairwise(state.attempts[-2:]):
        if before.remedy is None or before.started is None or after.started is None:
            continue
        rows = [rows_of_step(each.started) for each in (before, after) if each.started]
        if "effective_batch" in before.remedy.keeps and None not in rows and rows[0] != rows[1]:
            yield f"a step has {rows[1]} rows, and had {rows[0]}"
        steps = (before.started.max_steps, after.started.max_steps)
        if "data_order" in before.remedy.keeps and None not in steps and steps[0] != steps[1]:
            yield f"training has {steps[1]} steps, and had {steps[0]}"


def rows_of_step(started: TrainingStarted) -> int | None:
    """Return the rows of an optimizer step, over all processes; None if the trainer did not report them.

    >>> rows_of_step(TrainingStarted(config={"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2}, world_size=2))
    16
    """
    batch, accumulation = (started.config.get(name) for name in ROWS)
    return (
        batch * accumulation * started.world_size if isinstance(batch, int) and isinstance(accumulation, int) else None
    )
