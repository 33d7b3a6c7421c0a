"""Of processes that wait for each other, the one that holds up the others is named; where the stacks do not tell, none is."""

from collections.abc import Mapping, Sequence

import pytest

from holdfast.engine.diagnose.collectives import Collective
from holdfast.engine.diagnose.ranks import find_standstill

BARRIER = ("torch/distributed/distributed_c10d.py", "barrier")
REDUCE = ("torch/distributed/distributed_c10d.py", "all_reduce")
BACKWARD = ("torch/autograd/graph.py", "_engine_run_backward")
LOADER = ("torch/utils/data/dataloader.py", "_try_get_data")
SLEEP = ("rewards.py", "score")


def stack(*frames: tuple[str, str]) -> str:
    """Return a stack as faulthandler writes it, the innermost frame first."""
    lines = [("/v/site-packages/" if "/" in file else "/home/me/") + file for file, _ in frames]
    calls = [f'  File "{file}", line 3 in {function}' for file, (_, function) in zip(lines, frames, strict=True)]
    main = '  File "/home/me/train.py", line 9 in <module>'
    return "\n".join(("Current thread 0x1 (most recent call first):", *calls, main, ""))


@pytest.mark.parametrize(
    ("stacks", "rank"),
    [
        ({0: stack(REDUCE), 1: stack(SLEEP)}, 1),
        ({0: stack(SLEEP), 1: stack(BACKWARD)}, 0),
        ({0: stack(BACKWARD), 1: stack(BACKWARD), 2: stack(LOADER), 3: stack(BACKWARD)}, 2),
        ({0: stack(REDUCE), 1: stack(REDUCE), 2: stack(BARRIER)}, 2),
        ({0: stack(REDUCE), 1: stack(BARRIER)}, None),
        ({0: stack(REDUCE), 1: stack(REDUCE)}, None),
        ({0: stack(SLEEP), 1: stack(SLEEP), 2: stack(REDUCE)}, None),
        ({0: stack(SLEEP)}, None),
    ],
)
def test_the_rank_that_the_others_wait_for_is_named(stacks: Mapping[int, str], rank: int | None) -> None:
    """Never one of two that do the same."""
    found = find_standstill(stacks, collectives=None)

    assert found is not None
    assert found.rank == rank
    assert rank is None or found.text.startswith(f"rank {rank} is in ")


def test_the_newest_stack_counts() -> None:
    """A process that moved on between two looks hangs where it is now."""
    found = find_standstill({0: stack(LOADER) + stack(REDUCE), 1: stack(SLEEP)}, collectives=None)

    assert found is not None
    assert found.text == "rank 1 is in `score` (rewards.py:3), and rank 0 waits for it in `all_reduce`"


NONE = "holdfast: no stack: py-spy: Permission Denied: Try running again with elevated permissions\n"


@pytest.mark.parametrize(
    ("stacks", "text"),
    [
        ({0: NONE}, "no stack: py-spy: Permission Denied: Try running again with elevated permissions"),
        ({0: stack(SLEEP) + NONE}, "it is in `score` (rewards.py:3)"),  # an earlier one: it was there a while ago
        ({0: stack(REDUCE), 1: NONE}, "rank 0 is in `all_reduce` (distributed_c10d.py:3), called from train.py:9; no stack of rank 1: py-spy: "),
        ({0: stack(SLEEP), 1: ""}, "rank 0 is in `score` (rewards.py:3)"),
    ],
)  # fmt: skip
def test_that_there_is_no_stack_is_said_and_blames_nobody(stacks: Mapping[int, str], text: str) -> None:
    """Neither the process without one nor the only one that has one."""
    found = find_standstill(stacks, collectives=None)

    assert found is not None
    assert (found.rank, found.text[: len(text)]) == (None, text)


def test_a_rank_without_a_stack_is_named_by_its_collectives() -> None:
    """The flight recorder answers where a stack cannot be taken."""
    done = Collective(group="0", number=4, operation="all_reduce", is_over=True)
    waits = Collective(group="0", number=5, operation="all_reduce")
    found = find_standstill({0: stack(REDUCE), 1: NONE}, {0: [done, waits], 1: [done]})

    assert found is not None
    assert found.rank == 1


def test_without_stacks_nothing_is_said() -> None:
    """A process in a system call of the kernel writes none."""
    assert find_standstill({0: "", 1: "no stack here"}, collectives=None) is None


def test_the_call_of_the_user_is_named_behind_that_of_a_library() -> None:
    """A person knows the own line better than that of urllib."""
    found = find_standstill({0: stack(LOADER, SLEEP)}, collectives=None)

    assert found is not None
    assert found.text == "it is in `_try_get_data` (dataloader.py:3), called from `score` (rewards.py:3)"


def waits_in(number: int, operation: str = "all_reduce", size: int = 3) -> Sequence[Collective]:
    """Return the newest collectives of a rank that waits in the last of them."""
    done = Collective(group="0", number=number - 1, operation="all_reduce", sizes=[[3]], is_over=True)
    return [done, Collective(group="0", number=number, operation=operation, sizes=[[size]])]


@pytest.mark.parametrize(
    ("collectives", "rank", "text"),
    [
        (
            {0: waits_in(26), 1: waits_in(26)[:1]},
            1,
            "rank 1 has not come to collective 26, `all_reduce` of [3], in which rank 0 waits",
        ),
        (
            {0: waits_in(24), 1: waits_in(26), 2: waits_in(26)},
            0,
            "rank 0 has not come to collective 26, `all_reduce` of [3], in which ranks 1 and 2 wait",
        ),
        (
            {0: waits_in(9), 1: waits_in(9, "broadcast")},
            None,
            "collective 9 is not the same for all: `all_reduce` of [3] for rank 0, `broadcast` of [3] for rank 1",
        ),
        (
            {0: waits_in(9), 1: waits_in(9), 2: waits_in(9, size=4)},
            2,
            "collective 9 is not the same for all: `all_reduce` of [3] for ranks 0 and 1, `all_reduce` of [4] for rank 2",
        ),
        ({0: waits_in(9), 1: waits_in(9)}, None, ""),
        ({0: waits_in(9)[:1], 1: waits_in(8)[:1]}, None, ""),
        ({0: waits_in(9)}, None, ""),
        ({}, None, ""),
    ],
)
def test_where_the_stacks_are_alike_the_collectives_are_compared(
    collectives: Mapping[int, Sequence[Collective]], rank: int | None, text: str
) -> None:
    """By torch's flight recorder: a rank that lags behind, or one that calls something else."""
    found = find_standstill({each: stack(REDUCE) for each in range(3)}, collectives)

    assert found is not None
    assert found.rank == rank
    assert found.text.endswith(text)
    assert ("collective" in found.text) == bool(text)
