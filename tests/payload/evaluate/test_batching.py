"""A batch that does not fit into memory is halved, and every row still has its output once."""

import errno
from typing import Any

import pytest

pytest.importorskip("torch")
from holdfast.payload.evaluate.batching import OutOfMemoryRowError, run_batches
from holdfast.payload.evaluate.dataset_work import kind_of

pytestmark = pytest.mark.train


def run(lengths: list[int], fits: int, batch_size: int, error: type[Exception] = MemoryError) -> tuple[Any, ...]:
    """Run rows of some lengths on a machine where so many tokens fit."""
    sizes, shrunk = list[int](), list[int]()

    def work(batch: list[int]) -> list[dict[str, Any]]:
        if max(batch) * len(batch) > fits:
            raise error("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes")
        sizes.append(len(batch))
        return [{"row": each} for each in batch]

    found = [
        each["row"] for some in run_batches(lengths, lambda row: row, work, batch_size, shrunk.append) for each in some
    ]
    return found, sizes, shrunk


@pytest.mark.parametrize("error", [MemoryError, RuntimeError])
def test_a_batch_that_does_not_fit_is_halved(error: type[Exception]) -> None:
    """The longest rows come first, so this happens at the beginning."""
    found, sizes, shrunk = run([3, 10, 7, 1, 9, 8, 2], fits=25, batch_size=8, error=error)

    assert found == [10, 9, 8, 7, 3, 2, 1]
    assert (sizes[0], shrunk) == (1, [3, 1])


def test_long_rows_are_in_smaller_batches() -> None:
    """Before memory runs out: what a batch needs grows with the longest row."""
    _, sizes, shrunk = run([8_000] * 4 + [10] * 4, fits=10**9, batch_size=8)

    assert (sizes[:2], shrunk) == ([2, 2], [])


def test_a_row_that_does_not_fit_alone_is_an_error() -> None:
    with pytest.raises(OutOfMemoryRowError):
        run([3, 50], fits=25, batch_size=4)


def test_other_errors_are_not_taken_for_memory() -> None:
    with pytest.raises(ValueError, match="memory"):
        run([3], fits=1, batch_size=4, error=ValueError)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "disk"),
        (FileNotFoundError(errno.ENOENT, "No such file"), "other"),
        (OutOfMemoryRowError(), "memory"),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), "memory"),
        (ValueError("Cannot use chat template functions"), "template"),
        (KeyError("prompt"), "other"),
    ],
)
def test_errors_are_told_apart(error: Exception, kind: str) -> None:
    """A full disk and full memory have a class of failure and a remedy."""
    assert kind_of(error) == kind
