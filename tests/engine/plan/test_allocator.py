"""The caching allocator, by what is known of it and by what holds of any stream."""

import random
from functools import partial
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.engine.plan import allocator as under_test
from holdfast.engine.plan.allocator import CachingAllocator
from holdfast.engine.plan.blocks import Block

MIB: Final = 1 << 20

simulate = partial(under_test.simulate, capacity=0, load=0, workspaces=())


@pytest.mark.parametrize(
    ("sizes", "allocated", "reserved"),
    [
        ([1], 512, 2 * MIB),
        ([1000, 5 * MIB], 1024 + 5 * MIB, 22 * MIB),
        ([MIB], MIB, 2 * MIB),
        ([MIB, MIB, 1], 2 * MIB + 512, 4 * MIB),
        ([MIB + 1], MIB + 512, 20 * MIB),
        ([9 * MIB, 9 * MIB, 9 * MIB], 27 * MIB, 40 * MIB),
        ([10 * MIB], 10 * MIB, 10 * MIB),
        ([11 * MIB], 12 * MIB, 12 * MIB),  # a MiB is left, and no more: it is not split off
        ([100 * MIB, 100 * MIB], 200 * MIB, 200 * MIB),
    ],
)
def test_segments_have_the_sizes_that_torch_gives_them(sizes: list[int], allocated: int, reserved: int) -> None:
    found = simulate(sizes, range(1, len(sizes) + 1), expandable=False)
    assert (found.allocated, found.reserved) == (allocated, reserved)


@pytest.mark.parametrize(
    ("sizes", "reserved"), [([1], 2), ([30], 40), ([30, 30], 60), ([7, 7, 7], 40), ([100, 1], 102)]
)
def test_expandable_segments_grow_by_pages(sizes: list[int], reserved: int) -> None:
    found = simulate([size * MIB for size in sizes], range(1, len(sizes) + 1), expandable=True)
    assert found.reserved == reserved * MIB


def test_what_is_free_in_two_segments_holds_no_larger_block_unless_segments_expand() -> None:
    sizes, events = [30 * MIB, 30 * MIB, 60 * MIB], [1, 2, -1, -2, 3]
    assert simulate(sizes, events, expandable=False).reserved == 120 * MIB
    assert simulate(sizes, events, expandable=True).reserved == 60 * MIB


@pytest.mark.parametrize("expandable", [False, True])
def test_on_a_full_card_what_is_free_is_given_back_first(*, expandable: bool) -> None:
    sizes, events = [30 * MIB, 1, 60 * MIB], [1, 2, -1, 3]
    roomy = simulate(sizes, events, expandable=expandable)
    found = simulate(sizes, events, expandable=expandable, capacity=64 * MIB)
    assert (roomy.flushes, roomy.full, found.full) == (0, False, False)
    assert found.reserved <= 64 * MIB
    assert found.flushes == int(not expandable)
    assert simulate(sizes, events, expandable=expandable, capacity=50 * MIB).full


def test_a_large_block_is_split_only_if_a_mebibyte_is_left() -> None:
    sizes = [20 * MIB, 19 * MIB + 512, MIB - 512]
    assert simulate(sizes, [1, -1, 2, 3], expandable=False).allocated == 20 * MIB + MIB - 512


def test_blocks_of_expandable_segments_are_split_to_the_byte() -> None:
    sizes = [20 * MIB, 19 * MIB + 512, MIB - 512]
    assert simulate(sizes, [1, -1, 2], expandable=True).allocated == 20 * MIB
    assert simulate(sizes, [1, -1, 2, 3], expandable=True).reserved == 22 * MIB


def test_the_end_of_an_expandable_segment_is_used_last() -> None:
    """The block at the end counts as being as large as it can grow to, so that a larger one in the middle is preferred."""
    sizes = [15 * MIB, 2 * MIB, 43 * MIB, 8 * MIB, 15 * MIB, 17 * MIB]
    # 1 and 2 are followed by 3; when 1 and 3 are free, the end of 3 could grow, and 1 is taken for what fits in it
    allocator = CachingAllocator(expandable=True, capacity=0)
    first, wall, last = (allocator.allocate(size) for size in sizes[:3])
    assert allocator.reserved == 60 * MIB
    allocator.release(first)
    allocator.release(last)
    assert allocator.allocate(8 * MIB).place < wall.place
    assert allocator.allocate(43 * MIB).place > wall.place
    assert allocator.reserved == 60 * MIB


def test_addresses_that_were_unmapped_are_mapped_again_where_they_are_lowest() -> None:
    allocator = CachingAllocator(expandable=True, capacity=0)
    low, wall = allocator.allocate(60 * MIB), allocator.allocate(20 * MIB)
    allocator.release(low)
    allocator.empty_cache()
    assert allocator.reserved == 20 * MIB
    assert allocator.allocate(40 * MIB).place < wall.place
    assert allocator.reserved == 60 * MIB
    assert allocator.allocate(40 * MIB).place > wall.place  # 20 MiB are left before it
    assert allocator.reserved == 100 * MIB


def test_the_default_allocator_keeps_a_segment_of_which_a_part_is_in_use() -> None:
    allocator = CachingAllocator(expandable=False, capacity=0)
    held, free = allocator.allocate(5 * MIB), allocator.allocate(100 * MIB)
    allocator.release(free)
    allocator.empty_cache()
    assert allocator.reserved == 20 * MIB
    allocator.release(held)
    allocator.empty_cache()
    assert allocator.reserved == 0


def test_a_model_is_loaded_into_one_segment_and_what_loading_left_free_is_given_back() -> None:
    sizes = [15 * MIB] * 4
    apart = simulate(sizes, [1, 2, 3, 4], expandable=False)
    loaded = simulate(sizes, [1, 2, 3, 4], expandable=False, load=4)
    assert (apart.reserved, loaded.reserved) == (64 * MIB, 60 * MIB)
    freed = simulate([60 * MIB, 20 * MIB], [1, 2, -1], expandable=True, load=3, workspaces=[70 * MIB])
    assert freed.reserved == 100 * MIB


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10_000), expandable=st.booleans(), capacity=st.sampled_from([0, 300 * MIB]))
def test_what_is_reserved_holds_what_is_allocated(*, seed: int, expandable: bool, capacity: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    allocator = CachingAllocator(expandable=expandable, capacity=capacity)
    held: list[Block] = []
    for _ in range(300):
        if held and chance.random() < 0.5:
            allocator.release(held.pop(chance.randrange(len(held))))
        else:
            held.append(
                allocator.allocate(chance.choice([chance.randrange(1, 3 * MIB), chance.randrange(1, 40 * MIB)]))
            )
        assert allocator.allocated == sum(block.size for block in held)
        assert allocator.reserved >= allocator.allocated
    for block in held:
        allocator.release(block)
    assert allocator.allocated == 0
    allocator.empty_cache()
    assert allocator.reserved == 0


def test_the_same_stream_again_reserves_no_more() -> None:
    sizes = [chunk * MIB for chunk in (3, 40, 7, 1, 90)] * 2
    once = [1, 2, 3, 4, 5, -3, -2, -5, -1, -4]
    again = [event + 5 if event > 0 else event - 5 for event in once]
    for expandable in (False, True):
        first = simulate(sizes, once, expandable=expandable)
        assert simulate(sizes, [*once, *again], expandable=expandable).reserved == first.reserved
