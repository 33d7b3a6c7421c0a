"""Standard streams that the caller closed (`holdfast … <&-`) lead nowhere, rather than be missing; so does a standard error that cannot be written."""

import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper, UnsupportedOperation
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer  # for the type alone: there is no such module

STREAMS: Final = {"stdin": "r", "stdout": "w", "stderr": "w"}
"""The streams, in the order of their numbers, and how each is opened: a closed one takes its own number again."""


def open_closed_streams() -> None:
    """Open each closed standard stream on the null device."""
    for name, mode in STREAMS.items():
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - it stays open


def ignore_write_errors() -> None:
    """Have what cannot be written to standard error be lost: on a full disk, or on a terminal that is gone, a run is supervised all the same."""
    try:
        number = sys.stderr.fileno()
    except UnsupportedOperation:  # it is no file, so it is never full
        return
    stream = BufferedWriter(LossyFile(number, "w", closefd=False))
    sys.stderr = TextIOWrapper(
        stream, encoding=sys.stderr.encoding, errors="backslashreplace", line_buffering=True, write_through=True
    )


class LossyFile(FileIO):
    """A file that takes everything, and loses what cannot be written."""

    def write(self, data: "ReadableBuffer") -> int:
        """Write data; return its size."""
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes
