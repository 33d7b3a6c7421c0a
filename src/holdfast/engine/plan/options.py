"""Options: hardware and settings on which a job fits, with its effective batch, its method and its data unchanged."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from holdfast.catalog.hub.gpus import GIB, GpuCeilings, load_ceilings
from holdfast.core.estimate import Interval, MemoryEstimate
from holdfast.core.facts import Gpu
from holdfast.core.finding import MissingFactError
from holdfast.core.hardware import Hardware
from holdfast.engine.plan.card import estimate_memory
from holdfast.engine.plan.duration import cost_of, job_seconds
from holdfast.engine.plan.step import FLOAT16, Numerics, Sharding, TrainingStep, WeightQuantization

Settings = Mapping[str, bool | int | str]
"""Keys of a job file, with the values that an option gives them."""
SPARE_BYTES: Final = round(0.7 * GIB)
"""What a process cannot have of a card that the catalog does not know. Source: facts/memory.md §4."""
BF16: Final = (8, 0)
"""The first CUDA capability that computes in bfloat16."""


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
    """

    hardware: Hardware
    settings: Settings
    memory: MemoryEstimate
    fits: bool
    seconds: Interval | None
    usd: Interval | None


@dataclass(frozen=True, slots=True)
class StepVariant:
    """A step with some settings changed, and those settings."""

    step: TrainingStep
    settings: Settings


def usable_bytes(gpu: Gpu) -> int:
    """Return the memory that a process can have of a GPU."""
    known = load_ceilings().get(gpu.name)
    return known.usable_bytes if known else gpu.memory_bytes - SPARE_BYTES


def fits(step: TrainingStep, memory: MemoryEstimate, gpu: Gpu) -> bool:
    """Whether a process fits by the upper bound; beside vLLM on the same GPU, in what that leaves."""
    share = step.rollout.vllm_share if step.rollout else 0.0
    return memory.card.high <= usable_bytes(gpu) - share * gpu.memory_bytes


def judge_option(variant: StepVariant, hardware: Hardware, steps: int | None, *, expandable: bool) -> PlanOption:
    """Return one option, judged."""
    memory = estimate_memory(variant.step, expandable=expandable)
    seconds = _seconds(variant.step, hardware.gpus[0], steps)
    price = hardware.usd_per_hour
    return PlanOption(
        hardware=hardware,
        settings=variant.settings,
        memory=memory,
        fits=fits(variant.step, memory, hardware.gpus[0]),
        seconds=seconds,
        usd=cost_of(seconds, price) if seconds and price is not None else None,
    )


def search_options(
    step: TrainingStep, hardware: Iterable[Hardware], steps: int | None, *, expandable: bool
) -> list[PlanOption]:
    """Return for each machine the first variant that fits, the cheapest machine first; what cannot fit is left out.

    Machines of several GPUs, and those whose GPUs do not compute in bfloat16, are not asked.
    """
    found = []
    for machine in hardware:
        if len(machine.gpus) != 1 or machine.gpus[0].capability < BF16:
            continue
        judged = (judge_option(each, machine, steps, expandable=expandable) for each in variants(step))
        if (first := next((option for option in judged if option.fits), None)) is not None:
            found.append(first)
    return sorted(found, key=_price)


def variants(step: TrainingStep) -> Iterator[StepVariant]:
    """Yield the step as it is, and then with ever more changes that save memory: each keeps the ones before it.

    Checkpoints come first, since they change no result; then 16-bit weights under an adapter, smaller micro-batches with more
    accumulation, and a base in 4 bits, which changes the result a little.
    """
    variant = StepVariant(_alone(step), {})
    yield variant
    for change in (_checkpointed, _halved_weights):
        if (changed := change(variant)) is not None:
            yield (variant := changed)
    yield from _smaller(variant)
    if variant.step.adapter and not variant.step.quantization:
        yield from _in_four_bits(variant)


def _alone(step: TrainingStep) -> TrainingStep:
    """Return the step on one GPU, which accumulates what several processes would do at once."""
    processes = step.sharding.processes
    return replace(step, sharding=Sharding(), accumulation=step.accumulation * processes)


def _checkpointed(variant: StepVariant) -> StepVariant | None:
    if variant.step.checkpointing:
        return None
    settings = {**variant.settings, "train.gradient_checkpointing": True}
    return StepVariant(replace(variant.step, checkpointing=True), settings)


def _halved_weights(variant: StepVariant) -> StepVariant | None:
    """Frozen weights need no more than 16 bits."""
    step = variant.step
    if not step.adapter or step.numerics.weights <= FLOAT16:
        return None
    changed = replace(step, numerics=Numerics(autocast=step.numerics.autocast))
    return StepVariant(changed, {**variant.settings, "model.dtype": "bfloat16"})


def _smaller(variant: StepVariant) -> Iterator[StepVariant]:
    """Yield ever smaller micro-batches, of as many rows per step."""
    step, batch = variant.step, variant.step.batch
    while batch % 2 == 0 and not step.rollout:
        batch //= 2
        accumulation = step.batch * step.accumulation // batch
        settings = {
            "train.per_device_train_batch_size": batch,
            "train.gradient_accumulation_steps": accumulation,
        }
        changed = replace(step, batch=batch, accumulation=accumulation, masked=step.masked and batch > 1)
        yield StepVariant(changed, {**variant.settings, **settings})


def _in_four_bits(variant: StepVariant) -> Iterator[StepVariant]:
    step = replace(variant.step, quantization=WeightQuantization(bits=4))
    first = StepVariant(step, {**variant.settings, "quantization.load_in_4bit": True})
    yield first
    yield from _smaller(first)


def _seconds(step: TrainingStep, gpu: Gpu, steps: int | None) -> Interval | None:
    ceilings: GpuCeilings | None = load_ceilings().get(gpu.name)
    if steps is None or ceilings is None:
        return None
    try:
        return job_seconds(step, steps, ceilings)
    except MissingFactError:
        return None


def _price(option: PlanOption) -> tuple[float, int]:
    price = option.usd.value if option.usd else option.hardware.usd_per_hour
    return (float("inf") if price is None else price, len(option.settings))
