"""Of processes that wait for each other, the one that holds up the others is named; where the stacks do not tell, none is."""

from collections.abc import Mapping

import pytest

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
    found = find_standstill(stacks)

    assert found is not None
    assert found.rank == rank
    assert rank is None or found.text.startswith(f"rank {rank} is in ")


def test_the_newest_stack_counts() -> None:
    """A process that moved on between two looks hangs where it is now."""
    found = find_standstill({0: stack(LOADER) + stack(REDUCE), 1: stack(SLEEP)})

    assert found is not None
    assert found.text == "rank 1 is in `score` (rewards.py:3), and rank 0 waits for it in `all_reduce`"


def test_without_stacks_nothing_is_said() -> None:
    """A process in a system call of the kernel writes none."""
    assert find_standstill({0: "", 1: "no stack here"}) is None


def test_the_call_of_the_user_is_named_behind_that_of_a_library() -> None:
    """A person knows the own line better than that of urllib."""
    found = find_standstill({0: stack(LOADER, SLEEP)})

    assert found is not None
    assert found.text == "it is in `_try_get_data` (dataloader.py:3), called from `score` (rewards.py:3)"
