"""Whether the attempt after a remedy trains what the remedy promised, by what both trainers reported."""

from collections.abc import Iterator
from itertools import pairwise

from holdfast.core.run.remedy import AppliedRemedy
from holdfast.core.run.run_state import RunState
from holdfast.core.run.training_event import TrainingStarted

ROWS = ("per_device_train_batch_size", "gradient_accumulation_steps")


def broken_promises(state: RunState) -> Iterator[str]:
    """Yield what the newest attempt does otherwise than the remedy before it said; nothing before it has begun to train."""
    for before, after in pairwise(state.attempts[-2:]):
        if before.remedy and before.started and after.started:
            yield from _broken(before.remedy, before.started, after.started)


def _broken(remedy: AppliedRemedy, before: TrainingStarted, after: TrainingStarted) -> Iterator[str]:
    had, has = rows_of_step(before), rows_of_step(after)
    if "effective_batch" in remedy.keeps and _differ(had, has):
        yield f"a step has {has} rows, and had {had}"
    if "data_order" in remedy.keeps and _differ(before.max_steps, after.max_steps):
        yield f"training has {after.max_steps} steps, and had {before.max_steps}"


def _differ(had: int | None, has: int | None) -> bool:
    """True if two numbers are known, and not the same."""
    return None not in (had, has) and had != has


def rows_of_step(started: TrainingStarted) -> int | None:
    """Return the rows of an optimizer step, over all processes; None if the trainer did not report them.

    >>> rows_of_step(TrainingStarted(config={"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2}, world_size=2))
    16
    """
    batch, accumulation = (started.config.get(name) for name in ROWS)
    return (
        batch * accumulation * started.world_size if isinstance(batch, int) and isinstance(accumulation, int) else None
    )
