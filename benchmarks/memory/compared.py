"""The recorded allocations of a run beside those of its trace, event by event."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from benchmarks.memory.history import Event
from holdfast.engine.plan.trace_stream import rounded
from holdfast.payload.tracing.request import TraceAnswer

LARGE: Final = 1 << 20
"""Bytes of an allocation that counts; smaller ones are many, and decide nothing."""
STEP: Final = "first_"
"""What the names of the phases of the first step begin with."""
STATES: Final = "optimizer"


@dataclass(frozen=True, slots=True)
class ComparedAllocations:
    """Large allocations of a step's forward and backward pass, in their order.

    Attributes:
        recorded: How many were recorded.
        traced: How many the trace has.
        matched: How many are in both, in the same order, with the same size.
        recorded_bytes: Bytes of those that were recorded.
        matched_bytes: Bytes of those in both.
    """

    recorded: int
    traced: int
    matched: int
    recorded_bytes: int
    matched_bytes: int


def compare_allocations(events: Sequence[Event], traced: TraceAnswer) -> ComparedAllocations:
    """Return how the allocations of a recorded step and of a traced one agree."""
    before, after = [*_recorded(events)], [*_traced(traced)]
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    matched = [size for block in blocks for size in before[block.a : block.a + block.size]]
    return ComparedAllocations(
        recorded=len(before),
        traced=len(after),
        matched=len(matched),
        recorded_bytes=sum(before),
        matched_bytes=sum(matched),
    )


def _recorded(events: Sequence[Event]) -> Iterator[int]:
    phase = ""
    for kind, value in events:
        if kind == "@":
            phase = str(value)
        elif kind == "+" and phase.startswith(STEP) and not phase.endswith(STATES):
            size = rounded(int(value))
            if size >= LARGE:
                yield size


def _traced(answer: TraceAnswer) -> Iterator[int]:
    first = next(mark.event for mark in answer.marks if mark.phase == "forward")
    last = next(mark.event for mark in answer.marks if mark.phase == STATES)
    for event in answer.events[first:last]:
        size = rounded(answer.sizes[event - 1]) if event > 0 else 0
        if size >= LARGE:
            yield size
