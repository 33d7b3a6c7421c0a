"""The memory of a traced step: what is allocated as the trace saw it, and what the allocator reserves for that."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from holdfast.core.estimate import (
    TERM_NAMES,
    Interval,
    MemoryEstimate,
    MemoryPhase,
    MemoryTerm,
    PhaseName,
    TermName,
)
from holdfast.core.facts import Gpu
from holdfast.engine.plan.allocator import simulate
from holdfast.engine.plan.card import BESIDE, middle_of_trace, workspaces
from holdfast.engine.plan.options import PlanOption, fits_hardware, usable_bytes
from holdfast.engine.plan.planning import JobPlan
from holdfast.engine.plan.step import TrainingStep
from holdfast.engine.plan.trace_growth import grow_stream
from holdfast.engine.plan.trace_stream import SectionPeak, phase_peaks, repeat_step
from holdfast.engine.units import render_bytes
from holdfast.payload.tracing.request import TAGS, TraceAnswer, TracedPhase

ORDER: Final[tuple[PhaseName, ...]] = ("load", "forward", "loss", "backward", "optimizer", "evaluation")
NAMES: Final[Mapping[TracedPhase, PhaseName]] = {"reference": "loss"}
"""Phases of a plan that parts of a trace belong to; all others have the same name."""
UNTRACED: Final[tuple[PhaseName, ...]] = ("generation",)
"""Phases of the closed form that no trace goes through."""


def trace_memory(
    step: TrainingStep,
    answers: Sequence[TraceAnswer],
    period: int,
    closed: MemoryEstimate,
    *,
    expandable: bool,
    gpu: Gpu | None = None,
) -> MemoryEstimate:
    """Return the memory of a traced step. Its bounds are those of the closed form, unless the trace is beyond them.

    Args:
        step: The step.
        answers: Its trace; or two, of few layers.
        period: Layers after which their kinds repeat.
        closed: What the closed form says, for its terms to stand beside, and for phases that no trace goes through.
        expandable: Whether the allocator uses expandable segments.
        gpu: The GPU, at whose memory the allocator gives back what is free; None if it is not known.
    """
    layers = step.model.layers
    found: dict[PhaseName, SectionPeak] = {}
    for phase, peak in phase_peaks(answers, layers, period).items():
        name = NAMES.get(phase) or _phase_name(phase)
        if name not in found or peak.bytes > found[name].bytes:
            found[name] = peak
    beside = {phase.name: phase for phase in closed.phases}
    overhead = workspaces(gpu)
    untraced = [phase for phase in closed.phases if phase.name in UNTRACED]
    phases = [*untraced, *(_phase(name, found[name], beside.get(name), overhead) for name in ORDER if name in found)]
    allocated = max(phase.bytes for phase in phases)
    stream = answers[0] if len(answers) == 1 else grow_stream(answers[0], answers[1], layers, period)
    reserved = None
    if stream is not None:
        capacity = max(0, usable_bytes(gpu) - round(BESIDE.value)) if gpu else 0
        reserved = max(allocated, reserved_bytes(stream, overhead.bytes, expandable=expandable, capacity=capacity))
    shared = [term for term in closed.beside if term.name != "overhead"]
    middle = middle_of_trace(step, allocated, reserved, expandable=expandable) + sum(term.bytes for term in shared)
    card = Interval(middle, min(closed.card.low, middle), max(closed.card.high, middle))
    because = "CUDA context and libraries, and blocks that the allocator holds without handing them out"
    blocks = MemoryTerm("overhead", round(middle) - allocated - sum(term.bytes for term in shared), because)
    return MemoryEstimate(tuple(phases), card, (blocks, *shared), reserved)


def reserved_bytes(stream: TraceAnswer, workspace: int, *, expandable: bool, capacity: int = 0) -> int:
    """Return what the allocator reserves in two steps of a stream, the workspaces of cuBLAS among it.

    Args:
        stream: The stream.
        workspace: Bytes of both workspaces.
        expandable: Whether the allocator uses expandable segments.
        capacity: Bytes at which it gives back what is free; 0 for any.
    """
    twice = repeat_step(stream)
    load = next((mark.event for mark in twice.marks if mark.phase == "forward"), 0)
    halves = [workspace // 2] * 2
    found = simulate(twice.sizes, twice.events, expandable=expandable, capacity=capacity, load=load, workspaces=halves)
    return found.reserved


def _phase_name(phase: TracedPhase) -> PhaseName:
    return next(name for name in ORDER if name == phase)


def _phase(name: PhaseName, peak: SectionPeak, closed: MemoryPhase | None, overhead: MemoryTerm) -> MemoryPhase:
    """Return a phase as it was traced; its terms say what the closed form has in their place."""
    beside = _by_purpose(closed)
    terms = [
        MemoryTerm(term, size, f"traced; closed form: {render_bytes(beside[term])}" if closed else "traced")
        for term, size in _sizes(peak)
    ]
    return MemoryPhase(name, (*terms, overhead))


def _sizes(peak: SectionPeak) -> Iterator[tuple[TermName, int]]:
    """Yield what each purpose has at a peak; of a deeper model, activations have what is left."""
    parts = {name: max(0, round(size)) for name, size in zip(TAGS, peak.parts, strict=True)}
    parts["activations"] += round(peak.bytes) - sum(parts.values())
    for name in TERM_NAMES:
        if size := parts.get(name):
            yield name, max(0, size)


def _by_purpose(phase: MemoryPhase | None) -> Mapping[TermName, int]:
    found = dict.fromkeys(TERM_NAMES, 0)
    for term in phase.terms if phase else ():
        found[term.name] += term.bytes
    return found


def with_trace(found: JobPlan, answers: Sequence[TraceAnswer], period: int, *, expandable: bool) -> JobPlan:
    """Return a plan with the traced memory in place of the closed form's, wherever the job runs as it is.

    Options that change settings are other steps, and keep what the closed form says.
    """
    memory: dict[int, MemoryEstimate] = {}

    def traced(option: PlanOption) -> PlanOption:
        closed = option.memory
        if option.settings:
            return option
        if id(closed) not in memory:
            gpu = option.hardware.gpus[0] if option.hardware.gpus else None
            memory[id(closed)] = trace_memory(found.step, answers, period, closed, expandable=expandable, gpu=gpu)
        made = memory[id(closed)]
        return replace(option, memory=made, fits=fits_hardware(made, option.hardware))

    options = [each for each in map(traced, found.options) if each.fits]
    return replace(
        found,
        as_is=traced(found.as_is),
        chosen=traced(found.chosen) if found.chosen else None,
        options=options,
        because=(_describe_trace(answers, found.step.model.layers), *found.because),
        closed_form=found.as_is.memory,
    )


def _describe_trace(answers: Sequence[TraceAnswer], layers: int) -> str:
    """Return how the step was traced, in words."""
    first = answers[0]
    releases = ", ".join(f"{name} {release}" for name, release in first.versions)
    depth = "all layers" if len(answers) == 1 else f"{answers[0].layers} and {answers[1].layers} of {layers} layers"
    emulated = f"; emulated: {', '.join(first.emulated)}" if first.emulated else ""
    return f"traced on fake tensors, {depth}, with {releases}{emulated}"
