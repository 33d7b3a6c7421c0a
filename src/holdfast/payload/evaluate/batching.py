"""Batches of rows of like length, smaller ones after memory ran out."""

from collections.abc import Callable, Iterator
from typing import Any

import torch

MOST_TOKENS = 16_384
"""Of a batch, with padding: what memory a row needs depends on its length."""
OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "cublas_status_alloc_failed")


class OutOfMemoryRowError(Exception):
    """One row alone does not fit into memory."""


def is_out_of_memory(error: BaseException) -> bool:
    """True of the errors that torch raises for want of memory, on a GPU or not."""
    words = str(error).lower()
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and any(each in words for each in OUT_OF_MEMORY)
    )


def run_batches(
    rows: list[Any],
    length: Callable[[Any], int],
    work: Callable[[list[Any]], list[dict[str, Any]]],
    batch_size: int,
    shrunk: Callable[[int], None],
) -> Iterator[list[dict[str, Any]]]:
    """Yield the outputs of batches, the longest rows first: if these fit, so do all.

    Args:
        rows: The rows.
        length: The length of a row, in tokens.
        work: What is done with a batch.
        batch_size: The most rows of a batch.
        shrunk: Called with the new size after memory ran out.

    Raises:
        OutOfMemoryRowError: One row alone does not fit.
    """
    waiting = sorted(rows, key=length, reverse=True)
    while waiting:
        fitting = max(1, min(batch_size, MOST_TOKENS // max(1, length(waiting[0]))))
        outputs = attempt(work, waiting[:fitting])
        if outputs is not None:
            waiting = waiting[len(outputs) :]
            yield outputs
            continue
        if min(fitting, len(waiting)) == 1:
            raise OutOfMemoryRowError
        batch_size = min(fitting, len(waiting)) // 2
        shrunk(batch_size)


def attempt(work: Callable[[list[Any]], list[dict[str, Any]]], batch: list[Any]) -> list[dict[str, Any]] | None:
    """Return the outputs of a batch; None if memory ran out."""
    try:
        return work(batch)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
    if torch.cuda.is_available():  # outside of the `except`, whose error holds the tensors
        torch.cuda.empty_cache()
    return None
