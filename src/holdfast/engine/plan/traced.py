"""The memory of a traced step: what is allocated as the trace saw it, and what the allocator reserves for that."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from holdfast.core.check.facts import Gpu
from holdfast.core.plan.estimate import (
    TERM_NAMES,
    Interval,
    MemoryEstimate,
    MemoryPhase,
    MemoryTerm,
    PhaseName,
    TermName,
)
from holdfast.engine.plan.card import BESIDE, middle_of_trace, workspaces
from holdfast.engine.plan.options import PlanOption, fits_hardware, usable_bytes
from holdfast.engine.plan.planning import JobPlan
from holdfast.engine.plan.step import TrainingStep
from holdfast.engine.plan.timeline import trace_timeline
from holdfast.engine.plan.trace_stream import SectionPeak
from holdfast.engine.plan.traced_step import TracedStep
from holdfast.engine.units import render_bytes
from holdfast.payload.tracing.request import TAGS

UNTRACED: Final[tuple[PhaseName, ...]] = ("generation",)
"""Phases of the closed form that no trace goes through."""


def trace_memory(step: TrainingStep, traced: TracedStep, closed: MemoryEstimate, *, gpu: Gpu | None) -> MemoryEstimate:
    """Return the memory of a traced step. Its bounds are those of the closed form, unless the trace is beyond them.

    Args:
        step: The step.
        traced: Its trace.
        closed: What the closed form says, for its terms to stand beside, and for phases that no trace goes through.
        gpu: The GPU, at whose memory the allocator gives back what is free; None if it is not known.
    """
    overhead = workspaces(gpu)
    phases = _phases(traced, closed, overhead)
    allocated = max(phase.bytes for phase in phases)
    history = traced.history(overhead.bytes, max(0, usable_bytes(gpu) - round(BESIDE.value)) if gpu else 0)
    reserved = max(allocated, history.reserved) if history else None
    shared = [term for term in closed.beside if term.name != "overhead"]
    extra = sum(term.bytes for term in shared)
    middle = middle_of_trace(step, allocated, reserved, expandable=traced.expandable) + extra
    card = Interval(middle, min(closed.card.low, middle), max(closed.card.high, middle))
    because = "CUDA context and libraries, and blocks that the allocator holds without handing them out"
    blocks = MemoryTerm("overhead", round(middle) - allocated - extra, because)
    return MemoryEstimate(tuple(phases), card, (blocks, *shared), reserved)


def _phases(traced: TracedStep, closed: MemoryEstimate, overhead: MemoryTerm) -> list[MemoryPhase]:
    """Return the traced phases, and those of the closed form that no trace goes through."""
    beside = {phase.name: phase for phase in closed.phases}
    untraced = [phase for phase in closed.phases if phase.name in UNTRACED]
    return [*untraced, *(_phase(name, peak, beside.get(name), overhead) for name, peak in traced.peaks.items())]


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


def with_trace(found: JobPlan, traced: TracedStep) -> JobPlan:
    """Return a plan with the traced memory in place of the closed form's, wherever the job runs as it is.

    Options that change settings are other steps, and keep what the closed form says.
    """
    memory: dict[int, MemoryEstimate] = {}

    def placed(option: PlanOption) -> PlanOption:
        closed = option.memory
        if option.settings:
            return option
        if id(closed) not in memory:
            memory[id(closed)] = trace_memory(found.step, traced, closed, gpu=_gpu(option))
        made = memory[id(closed)]
        return replace(option, memory=made, fits=fits_hardware(made, option.hardware))

    options = [each for each in map(placed, found.options) if each.fits]
    return replace(
        found,
        as_is=placed(found.as_is),
        chosen=placed(found.chosen) if found.chosen else None,
        options=options,
        because=(_describe_trace(traced), *found.because),
        closed_form=found.as_is.memory,
        timeline=trace_timeline(traced, workspaces(_gpu(found.as_is)).bytes),
    )


def _gpu(option: PlanOption) -> Gpu | None:
    return next(iter(option.hardware.gpus), None)


def _describe_trace(traced: TracedStep) -> str:
    """Return how the step was traced, in words."""
    answers = traced.answers
    first = answers[0]
    releases = ", ".join(f"{name} {release}" for name, release in first.versions)
    depth = "all layers" if len(answers) == 1 else f"{first.layers} and {answers[1].layers} of {traced.layers} layers"
    emulated = f"; emulated: {', '.join(first.emulated)}" if first.emulated else ""
    return f"traced on fake tensors, {depth}, with {releases}{emulated}"
