"""Hardware that does what a job's own hardware does, for much less."""

from typing import Final

from holdfast.core.plan.estimate import CheaperHardware, Interval
from holdfast.engine.plan.disk import disk_need
from holdfast.engine.plan.job_model import JobModel
from holdfast.engine.plan.options import PlanOption, usable_bytes
from holdfast.engine.plan.planning import JobPlan
from holdfast.engine.plan.states import model_bytes

ROOM: Final = 0.9
"""The most of a smaller GPU that the upper end of the memory may take."""
PART: Final = 0.5
"""The most that the job may cost there, by what it costs: prices that are nearer are a matter of taste."""
SLACK: Final = 1.01
"""How much longer counts as equally long."""
LOADED: Final = 2
"""Main memory that must be there, by the model's weights."""


def cheaper_hardware(plan: JobPlan, model: JobModel) -> CheaperHardware | None:
    """Return the cheapest hardware on which a job fits as it is, takes no longer and costs at most half; None if that is not certain.

    It has as many GPUs. Its best, lower and upper time are compared, so that a GPU whose speed is only assumed must be fast enough even
    at its lowest. What the job writes must fit its disk, and the model its main memory.

    Args:
        plan: The plan of the job.
        model: The model of the job.
    """
    own = plan.as_is
    if not own.fits or own.seconds is None or own.usd is None:
        return None
    found = [each for each in plan.options if not each.settings and _does_the_same(each, own, plan, model)]
    best = min(found, key=lambda each: each.usd.value if each.usd else 0, default=None)
    return CheaperHardware(name=best.hardware.label, usd=best.usd) if best and best.usd else None


def _does_the_same(other: PlanOption, own: PlanOption, plan: JobPlan, model: JobModel) -> bool:
    """Whether hardware surely does the same for much less."""
    if not (other.seconds and other.usd and own.seconds and own.usd and other.usd.high):
        return False
    if len(other.hardware.gpus) != len(own.hardware.gpus) or not _has_room(other, plan, model):
        return False
    times = zip(_ends(other.seconds), _ends(own.seconds), strict=True)
    costs = zip(_ends(other.usd), _ends(own.usd), strict=True)
    return all(a <= SLACK * b for a, b in times) and all(a <= PART * b for a, b in costs)


def _ends(interval: Interval) -> tuple[float, float, float]:
    return interval.low, interval.value, interval.high


def _has_room(other: PlanOption, plan: JobPlan, model: JobModel) -> bool:
    """Whether the GPU, the disk and the main memory of hardware hold the job with room to spare."""
    disk = disk_need(model, plan.step, plan.workload, other.hardware)
    return (
        other.memory.card.high <= ROOM * usable_bytes(other.hardware.gpus[0])
        and (disk is None or disk.bytes <= disk.room_bytes)
        and other.hardware.memory_bytes >= LOADED * model_bytes(plan.step)
    )
