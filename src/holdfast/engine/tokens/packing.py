"""How many packs rows make, by their lengths alone.

Source: `trl.data_utils.pack_dataset` of TRL 1.16, which packs each thousand rows by themselves.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from holdfast.engine.tokens.recipe import Strategy

ROWS_AT_ONCE = 1000
"""Rows that `datasets.map` hands over together."""


def pack_lengths(lengths: Sequence[int], size: int, strategy: Strategy) -> tuple[int, float]:
    """Return the number of packs that rows make, and the share of the packs' tokens that rows fill.

    Args:
        lengths: Tokens of each row, in the order of the rows.
        size: Tokens of a pack: `max_length`.
        strategy: How they are packed.

    >>> pack_lengths([5, 2, 3, 1], 4, "bfd"), pack_lengths([5, 2, 3, 1], 4, "wrapped")
    ((3, 0.8333333333333334), (3, 0.9166666666666666))
    """
    packs = tokens = 0
    for start in range(0, len(lengths), ROWS_AT_ONCE):
        some = lengths[start : start + ROWS_AT_ONCE]
        if strategy == "wrapped":
            parts: Iterable[int] = some
            packs += -(-sum(some) // size)
        else:
            parts = list(_fitted(some, size, splits=strategy == "bfd_split"))
            packs += _count_bins(parts, size)
        tokens += sum(parts)
    return packs, tokens / (packs * size) if packs else 0.0


def _fitted(lengths: Iterable[int], size: int, *, splits: bool) -> Iterator[int]:
    """Yield the lengths of what is packed: rows cut to size, or their parts."""
    if not splits:
        return (min(length, size) for length in lengths if length)
    return chain.from_iterable(_split(length, size) for length in lengths)


def _split(length: int, size: int) -> Iterator[int]:
    yield from (size for _ in range(length // size))
    if length % size:
        yield length % size


def _count_bins(lengths: Iterable[int], size: int) -> int:
    """Return the number of bins opened where each part goes, longest first, where it leaves the least space."""
    spaces: list[int] = []
    opened = 0
    for length in sorted(lengths, reverse=True):
        at = bisect_left(spaces, length)
        if at < len(spaces):
            space = spaces.pop(at)
        else:
            space, opened = size, opened + 1
        if space > length:
            insort(spaces, space - length)
    return opened
