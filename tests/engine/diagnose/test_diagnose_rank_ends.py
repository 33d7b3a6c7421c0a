"""Of several processes that failed, the one that failed first is named; the last words of its victims are no cause."""

from collections.abc import Mapping

import pytest

from holdfast.engine.diagnose.rank_ends import RankEnd, first_failure

LOST = RankEnd(
    at=9.0,
    status="failed",
    reason="exception",
    because="RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:54451: Connection reset by peer.",
)
NO_MEMORY = RankEnd(at=9.5, status="failed", reason="exception", because="OutOfMemoryError: CUDA out of memory. Tried…")
BUG = RankEnd(at=9.9, status="failed", reason="exception", because="ValueError: rows of unequal length")
TERMINATED = RankEnd(at=11.0, status="stopped", reason="signal", because="SIGTERM")
ORPHAN = RankEnd(at=9.0, status="stopped", reason="launcher-died", because="the launcher of the ranks died, …")
KILLED = "E1 api.py:1002] failed (exitcode: {code}) local_rank: {rank} (pid: 7) of binary: python\n"


@pytest.mark.parametrize(
    ("ends", "launcher", "text"),
    [
        ({0: LOST}, KILLED.format(code=-9, rank=1), "rank 1 was killed by SIGKILL; rank 0 ended after it"),
        (
            {1: LOST, 2: LOST},
            KILLED.format(code=-11, rank=0),
            "rank 0 was killed by SIGSEGV; ranks 1 and 2 ended after it",
        ),
        ({0: TERMINATED}, KILLED.format(code=3, rank=1), "rank 1 ended with exit code 3; rank 0 ended after it"),
        # the launcher noticed a victim first
        (
            {0: LOST, 1: NO_MEMORY},
            KILLED.format(code=1, rank=0),
            "rank 1 failed first: OutOfMemoryError: CUDA out of memory; rank 0 ended after it",
        ),
        (
            {0: BUG, 1: NO_MEMORY},
            KILLED.format(code=1, rank=1),
            "rank 1 failed first: OutOfMemoryError: CUDA out of memory; rank 0 ended after it",
        ),
        ({0: TERMINATED, 1: TERMINATED}, "", None),
        ({0: LOST, 1: LOST}, KILLED.format(code=1, rank=0), None),
        ({0: LOST}, "", None),
        ({0: ORPHAN, 1: ORPHAN}, "", None),
        ({0: BUG}, KILLED.format(code=-9, rank=1).replace("local_rank: 1", "local_rank: 7"), None),
    ],
)
def test_the_first_failure_is_told_from_what_followed(
    ends: Mapping[int, RankEnd], launcher: str, text: str | None
) -> None:
    """By what each could still write, and by what the launcher noticed of those that could not."""
    found = first_failure(range(max(2, max(ends) + 1)), ends, launcher)

    if text is None:
        assert found is None or (found.rank, ends.get(found.rank)) == (0, BUG)
    else:
        assert found is not None
        assert found.text == text
        assert found.rank == int(text.split()[1])


def test_one_process_has_no_victims() -> None:
    """Its own last words are the cause."""
    assert first_failure([0], {0: BUG}, KILLED.format(code=1, rank=0)) is None
