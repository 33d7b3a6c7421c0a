"""Locks that the operating system drops when their holder dies, however it dies."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN, flock
from pathlib import Path
from typing import Final

from holdfast.adapters.clock import SystemClock
from holdfast.core.errors import LedgerError

LOOKS: Final = 1000
"""So many looks of other processes are passed over at most: one of them may be suspended while it looks."""
LOOK_S: Final = 0.001
"""Longer than a look takes."""


@contextmanager
def holding(path: Path) -> Iterator[bool]:
    """Hold a file's lock within the block; gives False where another process holds it.

    Raises:
        LedgerError: The file cannot be written.
    """
    descriptor = _opened(path)
    try:
        yield _is_taken(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def waiting_for(path: Path) -> Iterator[None]:
    """Wait for a file's lock, and hold it within the block.

    Raises:
        LedgerError: The file cannot be written.
    """
    descriptor = _opened(path)
    try:
        flock(descriptor, LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether a process holds a file's lock; nobody holds that of a file that is not there."""
    if not path.is_file():
        return False
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return not _take(descriptor, LOCK_SH)
    finally:
        os.close(descriptor)


def _is_taken(descriptor: int) -> bool:
    """Take a lock; False if another process holds it. One that only looks (`is_held`) has it for a moment, and is passed over."""
    for _ in range(LOOKS):
        if _take(descriptor, LOCK_EX):
            return True
        if not _take(descriptor, LOCK_SH):
            return False
        flock(descriptor, LOCK_UN)
        SystemClock().sleep(LOOK_S)
    return False


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        what = f"{path.name} cannot be written: {error.strerror}"
        raise LedgerError(what, where=str(path.parent), fix="free some disk space, or check permissions") from error


def _take(descriptor: int, kind: int) -> bool:
    try:
        flock(descriptor, kind | LOCK_NB)
    except BlockingIOError:
        return False
    return True
