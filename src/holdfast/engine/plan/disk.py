"""What a job surely writes to a disk: checkpoints and the result on this machine, the model's files on a rented one.

Covered: what is there at the same time, at the least. Not covered: the environment, the dataset's cache, and files that are downloaded to this
machine, since they may be there already. On Hugging Face Jobs, a run's checkpoints go to its bucket, which has no limit that is known.
"""

from holdfast.core.plan.estimate import DiskNeed, KeptFiles
from holdfast.core.plan.hardware import Hardware
from holdfast.core.run.backends import LOCAL
from holdfast.engine.plan.job_model import JobModel
from holdfast.engine.plan.job_time import Workload, checkpoint_bytes, result_bytes
from holdfast.engine.plan.parameters import total_parameters
from holdfast.engine.plan.step import TrainingStep
from holdfast.engine.units import render_bytes, render_counted


def disk_need(model: JobModel, step: TrainingStep, workload: Workload | None, hardware: Hardware) -> DiskNeed | None:
    """Return what a job writes to the disk of some hardware; None if that, or the disk, is not known.

    Args:
        model: The model of the job.
        step: Its training step.
        workload: How much there is to train; None if unknown.
        hardware: Where it runs.
    """
    if not hardware.disk_bytes:
        return None
    if hardware.name == LOCAL.name:
        return _checkpoints(step, workload, hardware.disk_bytes) if workload else None
    if not model.dtype or "quantization_config" in model.config:
        return None
    size = model.dtype * total_parameters(step.model)
    return DiskNeed(bytes=size, room_bytes=hardware.disk_bytes, because=f"the model's files are {render_bytes(size)}")


def kept_files(step: TrainingStep, workload: Workload) -> KeptFiles:
    """Return the checkpoints and the result of a job."""
    kept, checkpoint, result = workload.schedule.kept, checkpoint_bytes(step), result_bytes(step)
    described = (
        f"{render_counted(kept, 'checkpoint')} of {render_bytes(checkpoint)} and the result of {render_bytes(result)}"
    )
    return KeptFiles(bytes=kept * checkpoint + result, described=described)


def _checkpoints(step: TrainingStep, workload: Workload, room_bytes: int) -> DiskNeed:
    kept = kept_files(step, workload)
    return DiskNeed(bytes=kept.bytes, room_bytes=room_bytes, because=kept.described)
