"""How many optimizer steps a training makes.

Source: `Trainer.set_initial_training_values` of transformers 5.23, `BatchSamplerShard` of accelerate 1.15, and
`RepeatSampler` of TRL 1.16.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How many rows a step takes, and how often all of them are gone through.

    Attributes:
        epochs: Times that all rows are gone through.
        max_steps: Optimizer steps, whatever the rows; None if the epochs decide.
        batch: Rows that one process takes at once.
        accumulation: Such batches to an optimizer step.
        processes: Training processes on all machines together.
        drop_last: Whether the rows that do not fill the last batch are left out.
        generations: Completions that are drawn for each prompt; 0 if none are.
        generation_batch: Completions that are drawn at once, by all processes; 0 likewise.
        iterations: Times that each completion is trained on.
        streamed: Whether the rows are not counted, so that an epoch has no length.
    """

    epochs: float = 3.0
    max_steps: int | None = None
    batch: int = 8
    accumulation: int = 1
    processes: int = 1
    drop_last: bool = False
    generations: int = 0
    generation_batch: int = 0
    iterations: int = 1
    streamed: bool = False


def count_steps(schedule: Schedule, units: int | None) -> int | None:
    """Return the optimizer steps of the whole training; None if nothing says how many there will be.

    Without a single whole batch there is no step, even where `max_steps` asks for some.

    Args:
        schedule: How many rows a step takes.
        units: Rows or packs that an epoch goes over; None if they were not counted.

    >>> count_steps(Schedule(epochs=3, batch=8, accumulation=4), 100)
    12
    """
    batches = None if units is None or schedule.streamed else _count_batches(schedule, units)
    if batches == 0:
        return 0
    if schedule.max_steps is not None:
        return schedule.max_steps
    if batches is None:
        return None
    return math.ceil(schedule.epochs * math.ceil(batches / schedule.accumulation))


def _count_batches(schedule: Schedule, units: int) -> int:
    """Return the batches that one process gets in an epoch."""
    if schedule.generations:
        return _count_generated(schedule, units)
    if schedule.drop_last:
        return units // schedule.batch // schedule.processes
    return -(-units // (schedule.batch * schedule.processes))


def _count_generated(schedule: Schedule, units: int) -> int:
    """Return the same where completions are drawn: prompts that do not fill a generation batch are left out."""
    prompts = schedule.generation_batch // schedule.generations
    if not prompts:
        return 0
    rounds = schedule.generation_batch // (schedule.batch * schedule.processes)
    return units // prompts * schedule.iterations * rounds
