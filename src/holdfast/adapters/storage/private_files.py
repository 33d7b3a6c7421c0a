"""Files and folders that their owner alone may read, whatever the umask is."""

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Literal

OWNER_ONLY = 0o600


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for their owner alone; one that is there stays as it is.

    Raises:
        OSError: It cannot be made.
    """
    if not folder.is_dir():
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def open_private(path: Path, mode: Literal["wb", "ab", "r+b"]) -> BinaryIO:
    """Open a file for writing: anew (`wb`), at its end (`ab`) or anywhere (`r+b`); one that is there already becomes private too.

    Raises:
        OSError: It cannot be opened.
    """
    how = {"wb": os.O_WRONLY | os.O_TRUNC, "ab": os.O_WRONLY | os.O_APPEND, "r+b": os.O_RDWR}[mode]
    descriptor = os.open(path, os.O_CREAT | os.O_CLOEXEC | how, OWNER_ONLY)
    os.fchmod(descriptor, OWNER_ONLY)
    return os.fdopen(descriptor, mode)


def write_private(path: Path, text: str) -> None:
    """Write a file so that a reader sees all of it or the one before, whoever else writes it at the same time.

    Raises:
        OSError: It cannot be written.
    """
    make_private(path.parent)
    partial = partial_of(path)
    try:
        with open_private(partial, "wb") as file:
            file.write(text.encode(errors="backslashreplace"))  # a name on disk may be no text
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def partial_of(path: Path) -> Path:
    """Return where to write a file that is to replace another at once: a path that no other process and thread writes to."""
    return path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
