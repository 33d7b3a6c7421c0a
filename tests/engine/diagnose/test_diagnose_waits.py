"""Who waited for whom, in a log of several ranks."""

from dataclasses import replace

import pytest

from holdfast.core.diagnose.log import Hit, Line, Log
from holdfast.engine.diagnose.waits import absent_ranks, waits_of

TEXT = "[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={number}, OpType={kind}, NumelIn=1)"


def log(*texts: str) -> Log:
    return Log(hits=tuple(Hit(line=Line(number=at, text=text)) for at, text in enumerate(texts, start=1)))


def test_nothing_is_known_where_no_watchdog_spoke() -> None:
    assert waits_of(log("RuntimeError: something else")) == {}


def test_ranks_that_wait_for_rank_0() -> None:
    told = waits_of(log(*(TEXT.format(rank=rank, number=2, kind="ALLREDUCE") for rank in (1, 2, 3))))
    assert told == {
        "waiting_ranks": "3",
        "waiting_kinds": "1",
        "waiting_lag": "0",
        "waiting_sizes": "1",
        "rank_0_waits": "0",
    }


def test_ranks_in_different_operations() -> None:
    told = waits_of(
        log(
            TEXT.format(rank=0, number=122, kind="_REDUCE_SCATTER_BASE"),
            TEXT.format(rank=1, number=126, kind="_ALLGATHER_BASE"),
        )
    )
    assert told == {
        "waiting_ranks": "2",
        "waiting_kinds": "2",
        "waiting_lag": "4",
        "waiting_sizes": "1",
        "rank_0_waits": "1",
    }


def test_the_first_time_out_of_a_rank_counts() -> None:
    told = waits_of(log(*(TEXT.format(rank=1, number=number, kind="ALLREDUCE") for number in (5, 9))))
    assert told["waiting_lag"] == "0"


def test_ranks_in_one_collective_of_different_sizes() -> None:
    """They ran different code, whichever ranks they are; collectives of different numbers may have any sizes."""
    at = [TEXT.replace("NumelIn=1", f"NumelIn={size}") for size in (4096, 512)]
    same = log(*(text.format(rank=rank, number=7, kind="ALLREDUCE") for rank, text in zip((1, 3), at, strict=True)))
    later = log(*(text.format(rank=rank, number=rank, kind="ALLREDUCE") for rank, text in zip((1, 3), at, strict=True)))
    groups = log(
        *(
            f"[PG ID 1 PG GUID {rank} Rank {rank}] {text.format(rank=rank, number=7, kind='ALLREDUCE')}"
            for rank, text in zip((1, 3), at, strict=True)
        )
    )
    assert [waits_of(each)["waiting_sizes"] for each in (same, later, groups)] == ["2", "1", "1"]


@pytest.mark.parametrize(
    ("waiting", "absent"),
    [
        ((0, 1, 3), {"waiters": "ranks 0, 1 and 3", "absent": "rank 2"}),
        ((3,), {"waiters": "rank 3", "absent": "ranks 0, 1 and 2"}),
        ((0, 1), {"timed_out": "ranks 0 and 1"}),
        ((8, 9), {}),
    ],
)
def test_the_rank_that_did_not_wait_is_named(waiting: tuple[int, ...], absent: dict[str, str]) -> None:
    """Where one is missing between those that did; of higher ones, and of another node's, nothing is known."""
    assert absent_ranks(log(*(TEXT.format(rank=rank, number=7, kind="ALLREDUCE") for rank in waiting))) == absent


def test_a_rank_that_says_something_else_did_not_wait() -> None:
    other = Hit(line=Line(number=9, text="ValueError: bad row", rank=2))
    waiting = log(*(TEXT.format(rank=rank, number=7, kind="ALLREDUCE") for rank in (0, 1)))

    assert absent_ranks(replace(waiting, hits=(*waiting.hits, other)))["absent"] == "rank 2"


@pytest.mark.parametrize(
    ("launched", "told"),
    [
        ("torchrun --nproc_per_node=4 train.py", {"waiters": "ranks 0, 1 and 2", "absent": "rank 3"}),
        ("Num processes: 4", {"waiters": "ranks 0, 1 and 2", "absent": "rank 3"}),
        ("world_size = 3", {"everyone": "3"}),
        ("torchrun --nnodes 2 --nproc_per_node=4 train.py", {"timed_out": "ranks 0, 1 and 2"}),
    ],
)
def test_how_many_ranks_there_are_says_whether_the_last_one_is_absent(launched: str, told: dict[str, str]) -> None:
    """A rank that wrote nothing is above all that the log names; of several machines, one log does not tell."""
    waiting = log(*(TEXT.format(rank=rank, number=7, kind="ALLREDUCE") for rank in (0, 1, 2)))

    assert absent_ranks(replace(waiting, head=(Line(number=1, text=launched),))) == told
