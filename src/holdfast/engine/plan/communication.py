"""What the processes of a step send one another, and how long that takes.

Each amount is what one process sends in an optimizer step: a ring of N moves (N - 1) / N of a tensor to gather it or to reduce it to shards,
and twice that to reduce it everywhere. Not covered: several machines, and losses, metrics and evaluations, which are small.
"""

from typing import Final

from holdfast.core.plan.estimate import Interval
from holdfast.engine.plan.amount import NOTHING, Amount, counted, size, whole
from holdfast.engine.plan.parameters import total_parameters
from holdfast.engine.plan.states import model_amount
from holdfast.engine.plan.step import FLOAT16, TrainingStep

GATHERS: Final = 2
"""Times that sharded weights are gathered for a micro-batch: forward and backward."""


def sent_amount(step: TrainingStep) -> Amount:
    """Return the bytes that one process sends in an optimizer step.

    Source: transformers 5.23 trainer.py and accelerate 1.15 `no_sync`: DDP and FSDP reduce gradients once a step. DeepSpeed 0.19
    runtime/engine.py, `allreduce_gradients`: ZeRO-1 too, ZeRO-2 and ZeRO-3 for each micro-batch.
    """
    processes = step.sharding.processes
    if processes == 1:
        return NOTHING
    return _ring(step) * whole(processes - 1, "other process") / whole(processes, "process")


def _ring(step: TrainingStep) -> Amount:
    trained, micro = counted(step.trained, "trained parameters"), whole(step.accumulation, "micro-batch")
    gathered = micro * whole(GATHERS, "gather") * _computed_weights(step)
    match step.sharding.strategy:
        case "fsdp":
            return gathered + trained * size(step.numerics.compute)
        case "zero1":
            return trained * size(2 * FLOAT16)
        case "zero2":
            return micro * trained * size(FLOAT16) + trained * size(FLOAT16)
        case "zero3":
            return gathered + micro * trained * size(FLOAT16)
        case "ddp" | "none":
            return trained * size(2 * step.trained_bytes)


def _computed_weights(step: TrainingStep) -> Amount:
    """Return the weights as they are gathered: in few bits, or in the dtype in which they compute."""
    if step.quantization:
        return model_amount(step)
    return counted(total_parameters(step.model), "parameters") * size(step.numerics.compute)


def sending_seconds(step: TrainingStep, link: Interval, beside: Interval) -> Interval:
    """Return the time of an optimizer step for which the GPUs wait for one another.

    In the middle and at the upper end, nothing is sent while the GPU computes; at the lower end, all that there is time for.

    Args:
        step: The training step.
        link: Bytes per second between the GPUs of a machine.
        beside: The time of its arithmetic.
    """
    sent = sent_amount(step).value
    return Interval(sent / link.value, max(0.0, sent / link.high - beside.value), sent / link.low)
