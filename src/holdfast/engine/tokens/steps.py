"""How many optimizer steps a training makes.

Source: `Trainer.set_initial_training_values` of transformers 5.23, `BatchSamplerShard` of accelerate 1.15, and
`RepeatSampler` of TRL 1.16.
"""

import math

from holdfast.engine.tokens.recipe import Schedule


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
