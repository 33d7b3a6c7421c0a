"""How many processes a job runs in, and how they share the model: as the job says, its launcher, or the trainer's config."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.document import Document
from holdfast.core.plan.hardware import Hardware
from holdfast.engine.plan.plain_values import plain_value
from holdfast.engine.plan.step import Sharding, ShardingStrategy

WHOLLY_SHARDED: Final = frozenset({"FULL_SHARD", "TRUE", "1"})
"""Values of `fsdp_sharding_strategy` and `fsdp_reshard_after_forward` by which weights are freed after the forward pass."""
ZERO: Final[Mapping[int, ShardingStrategy]] = {0: "ddp", 1: "zero1", 2: "zero2", 3: "zero3"}
DEFAULT_STAGE: Final = 2
"""The ZeRO stage that accelerate takes. Source: accelerate 1.15 utils/dataclasses.py, DeepSpeedPlugin."""
DISTRIBUTED: Final[Mapping[str, ShardingStrategy]] = {"MULTI_GPU": "ddp", "NO": "none", "FSDP": "fsdp"}
ONE_PER_GPU: Final = ("accelerate", "deepspeed")
"""Launchers that start a process for each GPU where nothing is said, by what their names contain."""
RESHARD: Final = "fsdp_reshard_after_forward"
OFFLOADED: Final = "the memory of offloaded parameters is not known"
UNSEEN: Final = "one process: how a script is launched is not seen (--processes, --strategy)"


@dataclass(frozen=True, slots=True)
class ProcessCount:
    """The number of processes of a job, on all machines together.

    Attributes:
        count: How many there are.
        because: What was taken for granted; empty if the source says it.
    """

    count: int
    because: str = ""


def count_processes(job: Document, placed: Hardware | None) -> ProcessCount:
    """Return how many processes train.

    Args:
        job: The job, with what its launcher says.
        placed: The hardware that it runs on, if that is known.
    """
    nodes = job.get("where.nodes", None)
    machines = nodes if isinstance(nodes, int) else 1
    world, each = job.get("where.world_size", None), job.get("where.processes", None)
    if isinstance(world, int):
        return ProcessCount(world)
    if isinstance(each, int):
        return ProcessCount(each * machines)
    gpus = max(1, len(placed.gpus)) if placed else 1
    if job.kind == "job":
        return ProcessCount(gpus * machines)
    return _launched(job, gpus, machines)


def _launched(job: Document, gpus: int, machines: int) -> ProcessCount:
    """Return how many processes a program's launcher starts if no number is given."""
    launched_by = [str(name) for name in job.get("launch.by", None) or ()]
    if _starts_one_per_gpu(job, launched_by):
        return ProcessCount(gpus * machines, f"one process per GPU, as the launcher starts them: {gpus}")
    if launched_by or job.kind == "command":
        return ProcessCount(machines)
    if gpus > 1:
        return ProcessCount(gpus, f"{gpus} processes, as `holdfast run` starts a script on that hardware")
    return ProcessCount(1, UNSEEN)


def _starts_one_per_gpu(job: Document, launched_by: Sequence[str]) -> bool:
    by_accelerate = any(call.path.startswith("trl ") for call in job.calls)
    return by_accelerate or any(name in launcher for launcher in launched_by for name in ONE_PER_GPU)


def read_sharding(job: Document, processes: int) -> Sharding:
    """Return how processes share the model.

    Raises:
        MissingFactError: The job shards in a way whose memory is not known.
    """
    strategy = _strategy(job)
    if processes <= 1 and (job.kind == "job" or not strategy.startswith("zero")):
        return Sharding()
    return Sharding(strategy="ddp" if strategy == "none" else strategy, processes=processes)


def _strategy(job: Document) -> ShardingStrategy:
    given: ShardingStrategy | None = job.get("where.strategy", None)
    if given:
        return given
    _refuse_offload({"where.offload": job.get("where.offload", None)}, ("where.offload",))
    given_type = job.get("where.distributed_type", None)
    match _library(job) if given_type is None else given_type:
        case "DEEPSPEED":
            return _zero(job)
        case "FSDP":
            return _fsdp(job)
        case None | False:
            return "none"
        case kind:
            found = DISTRIBUTED.get(str(kind))
    if found is None:
        raise MissingFactError("where.distributed_type", f"the memory of `{kind}` is not known")
    return found


def _library(job: Document) -> str | None:
    """Return what shares the model by the trainer's own config, where the launcher does not say; None if nothing does."""
    return next((name.upper() for name in ("deepspeed", "fsdp") if _of_trainer(job, name)), None)


def _of_trainer(job: Document, name: str) -> Any:
    """Return a setting of the trainer's config; None if it is not given or off."""
    return plain_value(f"train.{name}", job.get(f"train.{name}", None)) or None


def _zero(job: Document) -> ShardingStrategy:
    """Return the ZeRO stage: of the options, of accelerate's file, or of the trainer's own config."""
    config, trainer = job.get("where.deepspeed", None), _of_trainer(job, "deepspeed")
    if isinstance(trainer, str) or "deepspeed_config_file" in _mapping(config):
        raise MissingFactError("deepspeed", "what DeepSpeed's own file says is not read")
    stage = job.get("where.zero_stage", None)
    stage = _stage_of_accelerate(_mapping(config)) if stage is None else stage
    stage = _stage_of_trainer(trainer) if stage is None else stage
    found = None if isinstance(stage, bool) else ZERO.get(stage)
    if found is None:
        raise MissingFactError("deepspeed", f"{stage!r} is not a ZeRO stage")
    return found


def _stage_of_accelerate(config: Mapping[str, Any]) -> Any:
    _refuse_offload(config, ("offload_optimizer_device", "offload_param_device"))
    return config.get("zero_stage")


def _stage_of_trainer(trainer: Any) -> Any:
    if not isinstance(trainer, Mapping):
        return DEFAULT_STAGE
    given = _mapping(trainer.get("zero_optimization"))
    _refuse_offload(given, ("offload_optimizer", "offload_param"))
    stage = given.get("stage", 0)
    return DEFAULT_STAGE if stage is None else stage


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _fsdp(job: Document) -> ShardingStrategy:
    settings, trainer = _mapping(job.get("where.fsdp", None)), _of_trainer(job, "fsdp")
    words = str("full_shard" if trainer is None or trainer is True else trainer).replace(",", " ").split()
    _refuse_offload(settings, ("fsdp_offload_params",))
    if "offload" in words:
        raise MissingFactError("train.fsdp", OFFLOADED)
    given = (job.get("where.fsdp_sharding", None), *map(settings.get, ("fsdp_sharding_strategy", RESHARD)))
    wholly = all(each is None or str(each).upper() in WHOLLY_SHARDED for each in given)
    if not wholly or "full_shard" not in words:
        raise MissingFactError(
            "fsdp", "the memory of FSDP that keeps weights whole after the forward pass is not known"
        )
    return "fsdp"


def _refuse_offload(settings: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if settings.get(name) not in (None, False, "none", "false", "False"):  # a mapping is in no set
            raise MissingFactError(name, OFFLOADED)
