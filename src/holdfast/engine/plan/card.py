"""From what is allocated to what the card must have.

The caching allocator reserves more than it hands out, the CUDA context and libraries need memory that torch does not count,
and the other processes of a node are talked to through buffers. The bounds are others' measurements; none is fitted here.
"""

from collections.abc import Iterable
from typing import Final

from holdfast.catalog.hub.gpus import GIB
from holdfast.core.check.facts import Gpu
from holdfast.core.plan.estimate import Interval, MemoryEstimate, MemoryPhase, MemoryTerm, exactly, largest_phase
from holdfast.engine.plan.amount import size, whole
from holdfast.engine.plan.memory import memory_phases
from holdfast.engine.plan.states import reference_term, weights_term
from holdfast.engine.plan.step import TrainingStep

MIB: Final = 1 << 20
WORKSPACE: Final = 8 * MIB
"""cuBLAS takes one for the forward thread and one for the backward thread. Source: torch's CublasHandlePool.cpp, whose
default before Hopper is `:4096:2:16:8`."""
HOPPER_WORKSPACE: Final = 32 * MIB
"""The same on GPUs of compute capability 9. Source: the allocations recorded on an H200 (docs/estimates.md)."""
HOPPER: Final = 9
BESIDE: Final = Interval(0.65 * GIB, 0.4 * GIB, 0.8 * GIB)
"""CUDA context and the code of all kernels. Source: 0.5 to 0.7 GiB of published runs on A100 (docs/estimates.md, Constants), and 0.73 to 0.76 GiB
of ours on an H200 with CUDA 13 (docs/estimates.md)."""
COMMUNICATION: Final = Interval(0.65 * GIB, 0.3 * GIB, 1.0 * GIB)
"""NCCL, per process of several. Source: the same."""
FORM: Final = Interval(1.0, 0.96, 1.1)
"""Measured by estimated, of what is allocated. Source: docs/estimates.md: the worst of 81 published runs of Mistral-7B."""
EXPANDABLE: Final = Interval(1.03, 1.0, 1.13)
"""Reserved by allocated, with expandable segments. Source: the allocator, simulated on twelve published
runs (docs/estimates.md, Constants)."""
SEGMENTED: Final = Interval(1.22, 1.0, 1.42)
"""The same by default. Source: nvidia-smi by allocated, of twelve published runs (docs/estimates.md, Constants); in the middle their geometric
mean. The lower end is 1.06 there,
and 1.02 in our runs on an H200 with torch 2.11 (docs/estimates.md): nothing but 1 is sure."""
FORM_BESIDE_FROZEN: Final = Interval(1.0, 0.92, 1.11)
SEGMENTED_BESIDE_FROZEN: Final = Interval(1.31, 1.0, 1.5)
"""The same of what is allocated beside frozen weights, which are allocated once and stay. Source: docs/estimates.md: with the upper end, the bound
holds the worst of 58 published runs of Mistral-7B with adapters; the middle was chosen among four values by the driver's errors of all 109 rows."""


def estimate_memory(step: TrainingStep, *, expandable: bool, gpu: Gpu | None = None) -> MemoryEstimate:
    """Return the memory of one process on its GPU.

    Args:
        step: The training step.
        expandable: Whether the allocator uses expandable segments.
        gpu: The GPU, of which vLLM takes a part where it generates on the same one; None if it is not known.
    """
    return estimate_card(step, memory_phases(step), expandable=expandable, gpu=gpu)


def estimate_card(
    step: TrainingStep, closed: Iterable[MemoryPhase], *, expandable: bool, gpu: Gpu | None = None
) -> MemoryEstimate:
    """Return the memory of one process, given the phases of the closed form: see `estimate_memory`."""
    overhead = workspaces(gpu)
    phases = tuple(MemoryPhase(phase.name, (*phase.terms, overhead)) for phase in closed)
    allocated = largest_phase(phases).bytes
    card = _reserved(step, allocated, expandable=expandable) + BESIDE
    if step.sharding.processes > 1:
        card += COMMUNICATION
    because = "CUDA context and libraries, and blocks that the allocator holds without handing them out"
    beside = [MemoryTerm("overhead", round(card.value) - allocated, because)]
    if step.rollout and step.rollout.vllm_share and gpu:
        share = round(step.rollout.vllm_share * gpu.memory_bytes)
        beside.append(MemoryTerm("generation", share, f"vLLM: {step.rollout.vllm_share:.0%} of the {gpu.name}"))
        card += exactly(share)
    return MemoryEstimate(phases, card, tuple(beside))


def middle_of_trace(step: TrainingStep, allocated: int, reserved: int | None, *, expandable: bool) -> float:
    """Return the best single answer of what the card must have for a traced step.

    Args:
        step: The step.
        allocated: What was traced.
        reserved: What the simulated allocator reserves for it; None if that was not simulated.
        expandable: Whether it uses expandable segments.
    """
    held = _reserved(step, allocated, expandable=expandable).value if reserved is None else float(reserved)
    return held + BESIDE.value


def _reserved(step: TrainingStep, allocated: int, *, expandable: bool) -> Interval:
    """Return what the allocator reserves: frozen weights as they are, and more than is allocated of all that comes and goes."""
    frozen = reference_term(step).bytes if step.reference else 0
    if step.adapter:
        frozen += weights_term(step).bytes
        reserved, form = EXPANDABLE if expandable else SEGMENTED_BESIDE_FROZEN, FORM_BESIDE_FROZEN
    else:
        reserved, form = EXPANDABLE if expandable else SEGMENTED, FORM
    return exactly(frozen) + exactly(allocated - frozen) * reserved * form


def workspaces(gpu: Gpu | None) -> MemoryTerm:
    """Return the workspaces of cuBLAS on a GPU."""
    each = HOPPER_WORKSPACE if gpu and gpu.capability[0] == HOPPER else WORKSPACE
    return (whole(2, "cuBLAS workspace") * size(each)).term("overhead")
