"""Free blocks of the simulated caching allocator, and how its two kinds of segments grow and are given back.

Source: c10/cuda/CUDACachingAllocator.cpp (see `allocator.py`); functions are named where they are followed.
"""

from bisect import bisect_left, insort
from typing import Final

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
"""The least that is split off in the small pool and in expandable segments; in other large segments, more than `SMALL`. should_split."""
ADDRESSES: Final = 1 << 50
"""Address space of an expandable segment, in bytes; torch takes 1 1/8 of the card's, which never runs out before the card's memory."""


class Block:
    """A part of a segment.

    Attributes:
        size: Its bytes.
        place: Its segment, and its offset there.
        small: Whether it is of the small pool.
        free: Whether it is available for an allocation.
        mapped: Whether there is memory behind its addresses.
        before: The block before it in its segment.
        after: The one after it.
    """

    __slots__ = ("after", "before", "free", "mapped", "place", "size", "small")

    def __init__(self, size: int, place: tuple[int, int], *, small: bool, mapped: bool = True) -> None:
        self.size, self.place, self.small, self.mapped = size, place, small, mapped
        self.free = True
        self.before: Block | None = None
        self.after: Block | None = None

    @property
    def key(self) -> tuple[int, tuple[int, int]]:
        """What free blocks are in order of: the smallest that fits is taken, and the first of these."""
        return self.size, self.place

    @property
    def room(self) -> int:
        """Bytes that it can grow to, with the unmapped ones after it. expandable_size in get_free_block."""
        after = self.after
        return self.size + (after.size if after is not None and not after.mapped else 0)

    def cut(self, size: int) -> "Block":
        """Shorten it to some bytes, and return the rest as a block after it."""
        rest = Block(self.size - size, (self.place[0], self.place[1] + size), small=self.small, mapped=self.mapped)
        rest.before, rest.after = self, self.after
        if self.after is not None:
            self.after.before = rest
        self.after, self.size = rest, size
        return rest

    def absorb(self, after: "Block") -> None:
        """Go on to the end of the block after it."""
        self.size += after.size
        self.after = after.after
        if after.after is not None:
            after.after.before = self


class SegmentPool:
    """The pool of the default allocator: each segment has a fixed size, and is given back when all of it is free."""

    def __init__(self, *, small: bool) -> None:
        self.small = small
        self.free: list[Block] = []
        self.segments = 0

    def best_fit(self, size: int) -> Block | None:
        """Take out the smallest block that fits."""
        place = bisect_left(self.free, (size, (-1, -1)), key=_key)
        return self.free.pop(place) if place < len(self.free) else None

    def missing(self, size: int) -> int:
        """Return the size of a new segment. get_allocation_size."""
        if self.small:
            return SMALL_SEGMENT
        return LARGE_SEGMENT if size < OWN_SEGMENT else multiple(size, SEGMENT_STEP)

    def grow(self, size: int) -> Block:
        """Return a new segment."""
        self.segments += 1
        return Block(self.missing(size), (self.segments, 0), small=self.small)

    def splits(self, rest: int) -> bool:
        """True if a rest of this many bytes is split off a block."""
        return rest >= LEAST_SPLIT if self.small else rest > SMALL

    def add(self, block: Block) -> Block:
        """Take in a free block, and return it merged with its free neighbours. free_block, try_merge_blocks."""
        block.free = True
        if (after := block.after) is not None and after.free and after.mapped:
            self.take(after)
            block.absorb(after)
        if (before := block.before) is not None and before.free and before.mapped:
            self.take(before)
            before.absorb(block)
            block = before
        insort(self.free, block, key=_key)
        return block

    def take(self, block: Block) -> None:
        """Take a block out of those that are free."""
        self.free.pop(bisect_left(self.free, block.key, key=_key))

    def give_back(self) -> int:
        """Give back segments that are wholly free. release_blocks."""
        gone = [block for block in self.free if block.before is None and block.after is None]
        self.free = [block for block in self.free if block.before is not None or block.after is not None]
        return sum(block.size for block in gone)


class ExpandablePool(SegmentPool):
    """The pool of expandable segments: one segment, behind whose addresses memory is mapped and unmapped by pages."""

    def __init__(self, *, small: bool) -> None:
        super().__init__(small=small)
        self.page = SMALL_SEGMENT if small else LARGE_SEGMENT
        self.unmapped = [Block(ADDRESSES, (0, 0), small=small, mapped=False)]
        """In the order of their addresses."""

    def best_fit(self, size: int) -> Block | None:
        """Take out the smallest block that fits; one that can grow counts as being as large as that. get_free_block."""
        place = bisect_left(self.free, (size, (-1, -1)), key=_key)
        if place == len(self.free):
            return None
        while place + 1 < len(self.free) and self.free[place + 1].room < self.free[place].room:
            place += 1
        return self.free.pop(place)

    def splits(self, rest: int) -> bool:
        """True if a rest of this many bytes is split off a block."""
        return rest >= LEAST_SPLIT

    def missing(self, size: int) -> int:
        """Return the bytes of the pages that are mapped for a new block."""
        held = missing = 0
        block: Block | None = self._candidate(size)
        while block is not None and held < size:
            more = block.size if block.mapped else min(block.size, multiple(size - held, self.page))
            missing += 0 if block.mapped else more
            held, block = held + more, block.after
        return missing

    def grow(self, size: int) -> Block:
        """Map pages where there is room, behind what is free before them. try_allocate_expandable_block."""
        block = self._candidate(size)
        if not block.mapped:
            block = self._map(block, size)
        while block.size < size and block.after is not None:
            block = self._map(block.after, size - block.size)
        self.take(block)
        return block

    def give_back(self) -> int:
        """Unmap the pages that are wholly free. unmap_block."""
        gone = 0
        for block in list(self.free):
            offset = block.place[1]
            begin = multiple(offset, self.page)
            end = (offset + block.size) // self.page * self.page
            if begin < end:
                self.take(block)
                self._unmap(block, begin - offset, end - begin)
                gone += end - begin
        return gone

    def _candidate(self, size: int) -> Block:
        """Return the first of the blocks at the lowest addresses that have room for some bytes. find_expandable_block."""
        for unmapped in self.unmapped:
            before = unmapped.before
            first = before if before is not None and before.free else unmapped
            if _has_room(first, size):
                return first
        return self.unmapped[-1]

    def _map(self, block: Block, size: int) -> Block:
        """Map the first pages of an unmapped block, and return them merged with the free blocks beside them. map_block."""
        place = self.unmapped.index(block)
        mapped = min(block.size, multiple(size, self.page))
        self.unmapped[place : place + 1] = [block.cut(mapped)] if mapped < block.size else []
        block.mapped = True
        return self.add(block)

    def _unmap(self, block: Block, before: int, size: int) -> None:
        """Unmap a part of a block, and merge it with the unmapped blocks beside it."""
        if before:
            rest = block.cut(before)
            insort(self.free, block, key=_key)
            block = rest
        if size < block.size:
            insort(self.free, block.cut(size), key=_key)
        block.mapped = False
        if (after := block.after) is not None and not after.mapped:
            self.unmapped.remove(after)
            block.absorb(after)
        if block.before is not None and not block.before.mapped:
            block.before.absorb(block)
        else:
            insort(self.unmapped, block, key=_place)


def _has_room(block: Block | None, size: int) -> bool:
    """Return whether free and unmapped blocks from one on have room for some bytes."""
    held = 0
    while block is not None and block.free and held < size:
        held, block = held + block.size, block.after
    return held >= size


def _key(block: Block) -> tuple[int, tuple[int, int]]:
    return block.key


def _place(block: Block) -> tuple[int, int]:
    return block.place


def multiple(size: int, of: int) -> int:
    """Return a size rounded up to a multiple.

    >>> multiple(3, 2)
    4
    """
    return -(-size // of) * of
