"""Forked processes that share work, and end with this one: if it is killed, those of Python's own pool wait for work for ever."""

import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager


@contextmanager
def forked_pool(count: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of so many processes, in this block."""
    reading, writing = os.pipe()
    fork = multiprocessing.get_context("fork")
    try:
        with ProcessPoolExecutor(count, fork, initializer=_end_with_parent, initargs=(reading, writing)) as pool:
            yield pool
    finally:
        os.close(reading)
        os.close(writing)


def _end_with_parent(reading: int, writing: int) -> None:
    """End this process when its parent has ended: the parent alone holds the other end of the pipe."""
    os.close(writing)
    threading.Thread(target=_wait, args=(reading,), daemon=True).start()


def _wait(reading: int) -> None:
    os.read(reading, 1)
    os._exit(1)
