"""Journals: the events of one run, one per line, in the run's own folder.

Covered: a line that a kill or a full disk cut off is taken away by the next append. Not covered: a disk that returns other bytes than it
was given.
"""

import os
from collections.abc import Iterator, Sequence
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import open_foreign

JOURNAL: Final = "ledger.jsonl"
BLOCK_BYTES: Final = 65_536
LONGEST_LINE_BYTES: Final = 16 << 20
"""No event is longer. A longer line was never ended."""


class Journal:
    """`ledger.jsonl` of a run's folder. Only whole lines are read.

    Args:
        folder: The run's folder; made with the first line.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / JOURNAL

    @property
    def size(self) -> int:
        """Its size in bytes; 0 if it does not exist, or is not a file."""
        try:
            return self._path.stat().st_size if self._path.is_file() else 0
        except FileNotFoundError:
            return 0

    def append(self, lines: Sequence[str]) -> None:
        """Write lines, all or none, and return once they are on the disk.

        Raises:
            OSError: It cannot be written.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            flock(file, LOCK_EX)
            end = _end_of_lines(file)
            os.ftruncate(file, end)
            try:
                _write(file, "".join(f"{line}\n" for line in lines).encode(), end)
                os.fsync(file)
            except OSError:
                os.ftruncate(file, end)
                raise
        finally:
            os.close(file)

    def read(self, start: int = 0) -> Iterator[tuple[int, str]]:
        """Yield each complete line, starting at a byte, with the byte at which the next line begins."""
        if not self.size:
            return
        with open_foreign(self._path) as file:
            file.seek(start)
            while (line := file.readline(LONGEST_LINE_BYTES)).endswith(b"\n"):
                start += len(line)
                yield start, line.decode(errors="replace")


def _end_of_lines(file: int) -> int:
    """Return the byte after the last whole line."""
    end = os.fstat(file).st_size
    while end:
        start = max(0, end - BLOCK_BYTES)
        found = os.pread(file, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _write(file: int, data: bytes, start: int) -> None:
    while data:
        written = os.pwrite(file, data, start)
        data, start = data[written:], start + written
