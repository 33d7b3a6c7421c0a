"""A traced step with all of its layers: what each phase needs, and what the allocator reserves for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from holdfast.core.plan.estimate import PhaseName
from holdfast.engine.plan.allocator import AllocatorHistory, simulate
from holdfast.engine.plan.trace_growth import grow_stream
from holdfast.engine.plan.trace_stream import SectionPeak, phase_peaks, repeat_step
from holdfast.payload.tracing.request import TraceAnswer, TracedPhase

ORDER: Final[tuple[PhaseName, ...]] = ("load", "forward", "loss", "backward", "optimizer", "evaluation")
NAMES: Final[Mapping[TracedPhase, PhaseName]] = {
    "load": "load",
    "forward": "forward",
    "loss": "loss",
    "reference": "loss",
    "backward": "backward",
    "optimizer": "optimizer",
    "evaluation": "evaluation",
}
"""Phases of a plan that parts of a trace belong to."""


@dataclass(frozen=True)
class TracedStep:
    """A traced step. What does not depend on the GPU is computed once.

    Attributes:
        answers: Its trace; or two, of few layers.
        layers: Layers of the whole model.
        period: Layers after which their kinds repeat.
        expandable: Whether the allocator uses expandable segments.
    """

    answers: Sequence[TraceAnswer]
    layers: int
    period: int
    expandable: bool
    _histories: dict[int, AllocatorHistory] = field(
        default_factory=dict[int, AllocatorHistory], repr=False, compare=False
    )

    @cached_property
    def peaks(self) -> Mapping[PhaseName, SectionPeak]:
        """What is alive at the peak of each phase, in order."""
        found: dict[PhaseName, SectionPeak] = {}
        for phase, peak in phase_peaks(self.answers, self.layers, self.period).items():
            name = NAMES[phase]
            if name not in found or peak.bytes > found[name].bytes:
                found[name] = peak
        return {name: found[name] for name in ORDER if name in found}

    @cached_property
    def stream(self) -> TraceAnswer | None:
        """The first two steps of the whole model; None if its layers are not alike."""
        if len(self.answers) == 1:
            return repeat_step(self.answers[0])
        few, many = self.answers
        grown = grow_stream(few, many, self.layers, self.period)
        return repeat_step(grown) if grown is not None else None

    def history(self, workspace: int, capacity: int = 0) -> AllocatorHistory | None:
        """Return what the allocator does in two steps, the workspaces of cuBLAS among it; None if there is no stream.

        Args:
            workspace: Bytes of both workspaces.
            capacity: Bytes at which it gives back what is free; 0 for any.
        """
        stream = self.stream
        if stream is None:
            return None
        if workspace not in self._histories:
            self._histories[workspace] = play(stream, workspace, expandable=self.expandable)
        roomy = self._histories[workspace]
        if not capacity or roomy.reserved <= capacity:
            return roomy
        return play(stream, workspace, expandable=self.expandable, capacity=capacity)


def play(stream: TraceAnswer, workspace: int, *, expandable: bool, capacity: int = 0) -> AllocatorHistory:
    """Return what the allocator does on a stream.

    Args:
        stream: The stream.
        workspace: Bytes of both workspaces of cuBLAS.
        expandable: Whether the allocator uses expandable segments.
        capacity: Bytes at which it gives back what is free; 0 for any.
    """
    halves = [workspace // 2] * 2
    load = load_events(stream)
    return simulate(stream.sizes, stream.events, expandable=expandable, capacity=capacity, load=load, workspaces=halves)


def load_events(stream: TraceAnswer) -> int:
    """Return how many events of a stream load the model."""
    return next((mark.event for mark in stream.marks if mark.phase == "forward"), 0)
