"""The caching allocator of CUDA, simulated on a stream of allocations: what it reserves for what is allocated.

Source: c10/cuda/CUDACachingAllocator.cpp, read in a copy of torch that is somewhat older than 2.11. `benchmarks.plan_measured --histories` replays
what torch 2.11 recorded, with expandable segments, and reserves the same to the byte. `blocks.py` has the segments.
Not simulated: several streams, `max_split_size_mb`, `roundup_power2_divisions`, garbage collection by `garbage_collection_threshold`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.engine.plan.blocks import SMALL, Block, ExpandablePool, SegmentPool
from holdfast.engine.plan.trace_stream import rounded


@dataclass(frozen=True, slots=True)
class AllocatorHistory:
    """What the allocator came to.

    Attributes:
        allocated: The most that was allocated.
        reserved: The most that was reserved.
        flushes: How often it gave back what was free, because the card was full.
        full: Whether something did not fit all the same.
        course: What is reserved after each event.
    """

    allocated: int
    reserved: int
    flushes: int
    full: bool
    course: Sequence[int]


class CachingAllocator:
    """The allocator of one stream.

    Args:
        expandable: Whether segments expand.
        capacity: Bytes that it can reserve; 0 for as many as it likes.
    """

    def __init__(self, *, expandable: bool, capacity: int) -> None:
        self.expandable, self.capacity = expandable, capacity
        self.allocated = self.reserved = self.most_allocated = self.most_reserved = self.flushes = 0
        self.full = False
        kind = ExpandablePool if expandable else SegmentPool
        self._pools: dict[bool, SegmentPool] = {small: kind(small=small) for small in (True, False)}

    def allocate(self, size: int) -> Block:
        """Return a block that holds some bytes."""
        size = rounded(size)
        pool = self._pools[size <= SMALL]
        block = pool.best_fit(size) or self._new_block(pool, size)
        block.free = False
        if pool.splits(block.size - size):
            pool.add(block.cut(size))
        self.allocated += block.size
        self.most_allocated = max(self.most_allocated, self.allocated)
        return block

    def release(self, block: Block) -> None:
        """Give a block back, to be merged with its free neighbours."""
        self.allocated -= block.size
        self._pools[block.small].add(block)

    def empty_cache(self) -> None:
        """Give back all that is wholly free: segments, and pages of those that expand."""
        self.reserved -= sum(pool.give_back() for pool in self._pools.values())

    def _new_block(self, pool: SegmentPool, size: int) -> Block:
        """Reserve a block; of a full card, give back first what is free."""
        if self.capacity and self.reserved + pool.missing(size) > self.capacity:
            self.flushes += 1
            self.empty_cache()
            self.full = self.full or self.reserved + pool.missing(size) > self.capacity
        self.reserved += pool.missing(size)
        self.most_reserved = max(self.most_reserved, self.reserved)
        return pool.grow(size)


def simulate(
    sizes: Sequence[int],
    events: Sequence[int],
    *,
    expandable: bool,
    capacity: int,
    load: int,
    workspaces: Sequence[int],
) -> AllocatorHistory:
    """Return what the allocator comes to on a stream.

    Args:
        sizes: Bytes of each allocation.
        events: `n + 1` where allocation `n` begins, `-(n + 1)` where it ends.
        expandable: Whether segments expand.
        capacity: Bytes that it can reserve; 0 for as many as it likes.
        load: How many of the events load the model.
        workspaces: Sizes that are allocated when it is loaded, and stay.
    """
    allocator = CachingAllocator(expandable=expandable, capacity=capacity)
    blocks: dict[int, Block] = {}
    warm_up(allocator, sum(sizes[event - 1] for event in events[:load] if event > 0))
    course = _play(allocator, sizes, events[:load], blocks)
    if load:
        allocator.empty_cache()
    for size in workspaces:
        allocator.allocate(size)
    course += _play(allocator, sizes, events[load:], blocks)
    return AllocatorHistory(
        allocated=allocator.most_allocated,
        reserved=allocator.most_reserved,
        flushes=allocator.flushes,
        full=allocator.full,
        course=course,
    )


def warm_up(allocator: CachingAllocator, size: int) -> None:
    """Take a block of the size of the model and give it back, as transformers does before it loads a model.

    Where it loads, the cache is emptied after that, by accelerate's `free_memory` before the first step. Source: transformers 5.23
    modeling_utils.py, caching_allocator_warmup; trainer.py, _inner_training_loop; both were seen in the histories recorded on an H200.
    """
    if size:
        allocator.release(allocator.allocate(size))


def _play(
    allocator: CachingAllocator, sizes: Sequence[int], events: Sequence[int], blocks: dict[int, Block]
) -> list[int]:
    """Allocate and release as events say; return what is reserved after each."""
    course = []
    for event in events:
        if event < 0:
            if (block := blocks.pop(-event, None)) is not None:
                allocator.release(block)
        elif size := sizes[event - 1]:
            blocks[event] = allocator.allocate(size)
        course.append(allocator.reserved)
    return course
