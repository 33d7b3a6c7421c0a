"""Recorded allocations replayed through the simulated allocator: what it has allocated and reserved at the peak of each phase."""

from collections.abc import Iterable

from benchmarks.memory.history import Event
from benchmarks.memory.phases import Peak
from holdfast.engine.plan.allocator import CachingAllocator
from holdfast.engine.plan.blocks import Block

EMPTIED = "begin"
"""The phase that begins after accelerate's `free_memory` has emptied the cache."""


def replay_history(events: Iterable[Event], *, expandable: bool) -> dict[str, Peak]:
    """Return the peaks of each phase, in bytes."""
    allocator = CachingAllocator(expandable=expandable, capacity=0)
    blocks: list[Block] = []
    peaks: dict[str, Peak] = {}
    phase = ""
    for kind, value in events:
        if kind == "@":
            phase = str(value)
            if phase == EMPTIED:
                allocator.empty_cache()
            allocator.most_allocated, allocator.most_reserved = allocator.allocated, allocator.reserved
        elif kind == "+":
            blocks.append(allocator.allocate(int(value)))
        else:
            allocator.release(blocks[int(value)])
        before = peaks.get(phase, (0, 0))
        peaks[phase] = max(before[0], allocator.most_allocated), max(before[1], allocator.most_reserved)
    return peaks
