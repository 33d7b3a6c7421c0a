"""Options: hardware and settings on which a job fits, with its effective batch, its method and its data unchanged."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from holdfast.catalog.hub.gpus import GIB, GpuCeilings, find_ceilings
from holdfast.core.check.facts import Gpu
from holdfast.core.check.finding import MissingFactError
from holdfast.core.plan.estimate import Interval, MemoryEstimate, MemoryPhase, TimePart, largest_phase
from holdfast.core.plan.hardware import Hardware
from holdfast.engine.plan.card import estimate_card
from holdfast.engine.plan.duration import cost_of, is_launch_bound
from holdfast.engine.plan.job_time import Workload, job_time, total_seconds, whole_step_seconds
from holdfast.engine.plan.memory import memory_phases
from holdfast.engine.plan.states import shards_weights, state_bytes
from holdfast.engine.plan.step import FLOAT16, TrainingStep

Settings = Mapping[str, bool | int | str]
"""Keys of a job file, with the values that an option gives them."""
StepOf = Callable[[Settings], TrainingStep]
"""Reads the step of a job with some settings changed."""
SPARE_BYTES: Final = round(0.7 * GIB)
"""What a process cannot have of a card that the catalog does not know. An assumption (docs/estimates.md, Constants)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOption:
    """One way to run a job.

    Attributes:
        hardware: The machine.
        settings: What differs from the job.
        memory: The memory of one process.
        fits: Whether that fits, by its upper bound.
        seconds: How long it takes; None if unknown.
        usd: What it costs; None if unknown.
        parts: The parts of that time; none if it is unknown.
        launch_bound: Whether its steps wait for the host to launch operations, where the time is known.
        step_seconds: How long an optimizer step takes; None if unknown.
        effective_batch: Rows of an optimizer step, of all processes.
        guessed_speed: Whether its time rests on a guess of how fast its GPU is.
        precision: Bytes of a trained weight, and of an element of the optimizer's states.
    """

    hardware: Hardware
    settings: Settings
    memory: MemoryEstimate
    fits: bool
    seconds: Interval | None
    usd: Interval | None
    parts: tuple[TimePart, ...] = ()
    launch_bound: bool = False
    step_seconds: Interval | None = None
    effective_batch: int = 1
    guessed_speed: bool = False
    precision: tuple[float, float] = (FLOAT16, FLOAT16)


@dataclass(frozen=True)
class StepVariant:
    """A step with some settings changed, and those settings."""

    step: TrainingStep
    settings: Settings

    def memory(self, hardware: Hardware, *, expandable: bool) -> MemoryEstimate:
        """Return the memory of a process on some hardware."""
        return estimate_card(self.step, self.phases, expandable=expandable, gpu=next(iter(hardware.gpus), None))

    @cached_property
    def phases(self) -> tuple[MemoryPhase, ...]:
        """What is allocated in each phase, on any hardware."""
        return memory_phases(self.step)


def usable_bytes(gpu: Gpu) -> int:
    """Return the memory that a process can have of a GPU."""
    known = find_ceilings(gpu)
    return known.usable_bytes if known else gpu.memory_bytes - SPARE_BYTES


def fits_hardware(memory: MemoryEstimate, hardware: Hardware) -> bool:
    """Whether a process fits a GPU of some hardware, by its upper bound."""
    return bool(hardware.gpus) and memory.card.high <= usable_bytes(hardware.gpus[0])


def judge_option(
    variant: StepVariant, hardware: Hardware, workload: Workload | None, *, expandable: bool
) -> PlanOption:
    """Return one option, judged."""
    gpu, memory = next(iter(hardware.gpus), None), variant.memory(hardware, expandable=expandable)
    parts = _parts(variant.step, hardware, workload)
    seconds = total_seconds(parts) if parts else None
    price = hardware.usd_per_hour
    return PlanOption(
        hardware=hardware,
        settings=variant.settings,
        memory=memory,
        fits=fits_hardware(memory, hardware),
        seconds=seconds,
        usd=cost_of(seconds, price) if seconds and price is not None else None,
        parts=parts,
        launch_bound=bool(parts) and _is_launch_bound(variant.step, gpu, workload),
        step_seconds=_step_seconds(variant.step, hardware, workload),
        effective_batch=variant.step.effective_batch,
        guessed_speed=_is_guessed(variant.step, hardware, workload),
        precision=precision_of(variant.step),
    )


FOUR_BITS: Final[Settings] = {
    "quantization.load_in_4bit": True,
    "quantization.bnb_4bit_quant_type": "nf4",
    "quantization.bnb_4bit_compute_dtype": "bfloat16",
}
"""QLoRA, as its paper has it; bitsandbytes alone would take fp4, and compute in float32."""


def variants(read: StepOf, alone: Settings) -> Iterator[StepVariant]:
    """Yield the step on one GPU, and then with ever more changes that save memory: each keeps the ones before it.

    Checkpoints and a reference that scores all rows beforehand come first, since they change no result; then 16-bit weights under an
    adapter, smaller micro-batches with more accumulation, and a base in 4 bits, which changes the result a little. Each is the step of the job with these settings; what
    cannot be planned is left out.

    Args:
        read: Reads the step of the job with some settings changed.
        alone: What has to change for one GPU.
    """
    variant = _read(read, alone)
    if variant is None:
        return
    yield variant
    for setting in _cheap_settings(variant.step):
        changed = _read(read, {**variant.settings, **setting})
        if changed is not None and changed.step != variant.step:
            yield (variant := changed)
    for fewer in _fewer_evaluated(read, variant):
        yield (variant := fewer)
    yield from _smaller(read, variant)
    yield from _quantized(read, variant)


def _quantized(read: StepOf, variant: StepVariant) -> Iterator[StepVariant]:
    """Yield the step with its base in 4 bits, under an adapter that is not sharded, and then with smaller micro-batches."""
    step = variant.step
    if step.adapter is None or step.quantization or _generates_by_vllm(step) or shards_weights(step):
        return
    if (quantized := _read(read, {**variant.settings, **FOUR_BITS})) is not None:
        yield quantized
        yield from _smaller(read, quantized)


def _generates_by_vllm(step: TrainingStep) -> bool:
    """True if vLLM generates, here or in a server: TRL cannot send it a base in 4 bits (huggingface/trl#4973)."""
    return step.rollout is not None and (step.rollout.vllm_share > 0 or not step.rollout.here)


def _read(read: StepOf, settings: Settings) -> StepVariant | None:
    try:
        return StepVariant(read(settings), settings)
    except MissingFactError:
        return None


def _cheap_settings(step: TrainingStep) -> Iterator[Settings]:
    """Yield settings that hardly change the result; one has no effect where the job gives a setting that wins over it."""
    if not step.checkpointing:
        yield {"train.gradient_checkpointing": True}
        yield {"train.activation_checkpointing": True}
    if step.reference and step.scores_reference and not shards_weights(step):
        yield {"train.precompute_ref_log_probs": True}
    if step.adapter and step.numerics.weights > FLOAT16:
        yield {"model.dtype": "bfloat16"}  # frozen weights need no more


def _fewer_evaluated(read: StepOf, variant: StepVariant) -> Iterator[StepVariant]:
    """Yield the step with evaluation batches no larger than those of training, where they need more; results do not depend on that."""
    step = variant.step
    if step.eval_batch > step.batch:
        settings = {**variant.settings, "train.per_device_eval_batch_size": step.batch}
        changed = _read(read, settings)
        if changed and largest_phase(changed.phases).bytes < largest_phase(variant.phases).bytes:
            yield changed


def _smaller(read: StepOf, variant: StepVariant) -> Iterator[StepVariant]:
    """Yield ever smaller micro-batches, of as many rows per step."""
    step = variant.step
    if step.rollout:
        return
    for batch in range(step.batch - 1, 0, -1):
        if step.batch % batch == 0:
            settings = {
                "train.per_device_train_batch_size": batch,
                "train.gradient_accumulation_steps": step.batch * step.accumulation // batch,
            }
            if (changed := _read(read, {**variant.settings, **settings})) is not None:
                yield changed


def _is_launch_bound(step: TrainingStep, gpu: Gpu | None, workload: Workload | None) -> bool:
    ceilings = find_ceilings(gpu) if gpu else None
    return ceilings is not None and is_launch_bound(step, ceilings, workload.lengths if workload else None)


def _is_guessed(step: TrainingStep, hardware: Hardware, workload: Workload | None) -> bool:
    """Whether how long a step takes rests on a guess; steps that wait for the host take as long on any GPU."""
    ceilings = _ceilings(step, hardware)
    return bool(ceilings and ceilings.guessed) and not _is_launch_bound(step, hardware.gpus[0], workload)


def precision_of(step: TrainingStep) -> tuple[float, float]:
    """Return the bytes of a trained weight, and of an element of the optimizer's states."""
    return step.trained_bytes, state_bytes(step)


def _parts(step: TrainingStep, hardware: Hardware, workload: Workload | None) -> tuple[TimePart, ...]:
    """Return the parts of the time on some hardware; none if it is not known."""
    ceilings = _ceilings(step, hardware)
    if workload is None or ceilings is None:
        return ()
    try:
        return job_time(step, workload, ceilings)
    except MissingFactError:
        return ()


def _step_seconds(step: TrainingStep, hardware: Hardware, workload: Workload | None) -> Interval | None:
    """Return the time of an optimizer step on some hardware; None if it is not known."""
    ceilings = _ceilings(step, hardware)
    try:
        return whole_step_seconds(step, ceilings, workload.lengths if workload else None) if ceilings else None
    except MissingFactError:
        return None


def _ceilings(step: TrainingStep, hardware: Hardware) -> GpuCeilings | None:
    """Return what a GPU of some hardware can do; None if unknown. How fast several machines are connected is not known."""
    found = find_ceilings(hardware.gpus[0]) if hardware.gpus else None
    several = found is not None and step.sharding.processes > len(hardware.gpus)
    return replace(found, link_bytes_per_s=None) if found and several else found
