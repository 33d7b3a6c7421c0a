"""The caching allocator of CUDA, simulated on a stream of allocations: what it reserves for what is allocated.

Source: c10/cuda/CUDACachingAllocator.cpp and c10/core/AllocatorConfig.h: constants, best fit, splitting and merging, segments by size, pages of
expandable segments, and what is given back before memory runs out.
Not simulated: several streams, `max_split_size_mb`, `roundup_power2_divisions`, garbage collection by `garbage_collection_threshold`.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.engine.plan.trace_stream import rounded

MIB: Final = 1 << 20
SMALL: Final = MIB
"""Blocks up to this come from the small pool. kSmallSize."""
SMALL_SEGMENT: Final = 2 * MIB
"""kSmallBuffer, and a page of the small pool's expandable segment."""
LARGE_SEGMENT: Final = 20 * MIB
"""large_segment_size, and a page of the large pool's expandable segment."""
OWN_SEGMENT: Final = 10 * MIB
"""Blocks from this on get a segment of their own. kMinLargeAlloc."""
SEGMENT_STEP: Final = 2 * MIB
"""What that is rounded up to. kRoundLarge."""
LEAST_SPLIT: Final = 512
"""The least that is split off in the small pool; in the large pool, more than `SMALL`."""


class Block:
    """A part of a segment.

    Attributes:
        size: Its bytes.
        place: Its segment, and its offset there.
        small: Whether it is of the small pool.
        free: Whether nobody has it.
        before: The block before it in its segment.
        after: The one after it.
    """

    __slots__ = ("after", "before", "free", "place", "size", "small")

    def __init__(self, size: int, place: tuple[int, int], *, small: bool) -> None:
        self.size, self.place, self.small = size, place, small
        self.free = False
        self.before: Block | None = None
        self.after: Block | None = None

    @property
    def key(self) -> tuple[int, tuple[int, int]]:
        """What free blocks are in order of: the smallest that fits is taken, and the first of these."""
        return self.size, self.place


@dataclass(frozen=True, slots=True)
class Reserved:
    """What the allocator came to.

    Attributes:
        allocated: The most that was allocated.
        reserved: The most that was reserved.
        flushes: How often it gave back what was free, because the card was full.
        full: Whether something did not fit all the same.
    """

    allocated: int
    reserved: int
    flushes: int
    full: bool


class CachingAllocator:
    """The allocator of one stream.

    Args:
        expandable: Whether segments expand.
        capacity: Bytes that it can reserve; 0 for as many as it likes.
    """

    def __init__(self, *, expandable: bool, capacity: int = 0) -> None:
        self.expandable, self.capacity = expandable, capacity
        self.allocated = self.reserved = self.most_allocated = self.most_reserved = self.flushes = 0
        self.full = False
        self._free: dict[bool, list[Block]] = {True: [], False: []}
        self._last: dict[bool, Block | None] = {True: None, False: None}
        self._segments = 0

    def allocate(self, size: int) -> Block:
        """Return a block that holds some bytes."""
        size = rounded(size)
        block = self._best_fit(size) or self._new_block(size)
        self._split(block, size)
        block.free = False
        self.allocated += block.size
        self.most_allocated = max(self.most_allocated, self.allocated)
        return block

    def release(self, block: Block) -> None:
        """Give a block back, to be merged with its free neighbours."""
        self.allocated -= block.size
        block.free = True
        if (after := block.after) is not None and after.free:
            self._take(after)
            self._merge(block, after)
        if (before := block.before) is not None and before.free:
            self._take(before)
            self._merge(before, block)
            block = before
        insort(self._free[block.small], block, key=_key)

    def _best_fit(self, size: int) -> Block | None:
        pool = self._free[size <= SMALL]
        place = bisect_left(pool, (size, (-1, -1)), key=_key)
        return pool.pop(place) if place < len(pool) else None

    def _take(self, block: Block) -> None:
        pool = self._free[block.small]
        pool.pop(bisect_left(pool, block.key, key=_key))

    def _new_block(self, size: int) -> Block:
        small = size <= SMALL
        if self.expandable:
            return self._expand(size, small=small)
        whole = SMALL_SEGMENT if small else LARGE_SEGMENT if size < OWN_SEGMENT else _multiple(size, SEGMENT_STEP)
        self._reserve(whole)
        self._segments += 1
        return Block(whole, (self._segments, 0), small=small)

    def _expand(self, size: int, *, small: bool) -> Block:
        """Return a block at the end of the pool's segment, which grows by pages."""
        page = SMALL_SEGMENT if small else LARGE_SEGMENT
        last = self._last[small]
        if last is not None and last.free:
            self._take(last)
            more = _multiple(size - last.size, page)
            self._reserve(more)
            last.size += more
            return last
        more = _multiple(size, page)
        self._reserve(more)
        block = Block(more, (int(small), last.place[1] + last.size if last else 0), small=small)
        block.before = last
        if last is not None:
            last.after = block
        self._last[small] = block
        return block

    def _split(self, block: Block, size: int) -> None:
        rest = block.size - size
        if rest < LEAST_SPLIT if block.small else rest <= SMALL:
            return
        left = Block(rest, (block.place[0], block.place[1] + size), small=block.small)
        left.before, left.after, left.free = block, block.after, True
        if block.after is not None:
            block.after.before = left
        elif self.expandable:
            self._last[block.small] = left
        block.after, block.size = left, size
        insort(self._free[block.small], left, key=_key)

    def _merge(self, first: Block, second: Block) -> None:
        """Have a block go on to the end of the one after it."""
        first.size += second.size
        self._unlink(second)

    def _unlink(self, block: Block) -> None:
        """Take a block out of its segment."""
        if block.before is not None:
            block.before.after = block.after
        if block.after is not None:
            block.after.before = block.before
        elif self.expandable:
            self._last[block.small] = block.before

    def _reserve(self, size: int) -> None:
        if self.capacity and self.reserved + size > self.capacity:
            self._flush()
            self.full = self.full or self.reserved + size > self.capacity
        self.reserved += size
        self.most_reserved = max(self.most_reserved, self.reserved)

    def _flush(self) -> None:
        """Give back free segments; of an expandable one, free pages, whose addresses are mapped anew when they are needed."""
        self.flushes += 1
        for small, pool in self._free.items():
            page = SMALL_SEGMENT if small else LARGE_SEGMENT
            kept = []
            for block in pool:
                whole = block.before is None and block.after is None
                gone = block.size // page * page if self.expandable else block.size if whole else 0
                self.reserved -= gone
                block.size -= gone
                if block.size:
                    kept.append(block)
                else:
                    self._unlink(block)
            self._free[small] = sorted(kept, key=_key)


def _key(block: Block) -> tuple[int, tuple[int, int]]:
    return block.size, block.place


def _multiple(size: int, of: int) -> int:
    return -(-size // of) * of


def simulate(
    sizes: Sequence[int], events: Sequence[int], *, expandable: bool, capacity: int = 0, standing: Sequence[int] = ()
) -> Reserved:
    """Return what the allocator comes to on a stream.

    Args:
        sizes: Bytes of each allocation.
        events: `n + 1` where allocation `n` begins, `-(n + 1)` where it ends.
        expandable: Whether segments expand.
        capacity: Bytes that it can reserve; 0 for as many as it likes.
        standing: Sizes that are allocated before, and stay.
    """
    allocator = CachingAllocator(expandable=expandable, capacity=capacity)
    for size in standing:
        allocator.allocate(size)
    blocks: dict[int, Block] = {}
    for event in events:
        if event < 0:
            if (block := blocks.pop(-event, None)) is not None:
                allocator.release(block)
        elif size := sizes[event - 1]:
            blocks[event] = allocator.allocate(size)
    return Reserved(allocator.most_allocated, allocator.most_reserved, allocator.flushes, allocator.full)
