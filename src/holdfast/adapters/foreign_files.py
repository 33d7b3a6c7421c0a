"""Reading files that others wrote, or put there: regular ones, and no more of them than their kind needs."""

import os
from contextlib import suppress
from errno import EFBIG, EINVAL
from hashlib import sha256
from io import BufferedReader
from pathlib import Path
from stat import S_ISREG
from typing import Final

MOST_BYTES: Final = 50_000_000
"""No script, notebook, job file or declaration is larger; data and logs are read in parts."""
NO_FILE: Final = "it is not a regular file"


def read_foreign(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return a file's content.

    Raises:
        OSError: It cannot be read, is not a regular file (a FIFO would be waited for, a device never ends), or is too large.
    """
    with open_foreign(path) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(EFBIG, f"it is larger than {most_bytes // 1_000_000} MB", str(path))
    return content


def hash_content(path: Path) -> str:
    """Return the SHA-256 of a file's content; empty if it cannot be read."""
    with suppress(OSError):
        return sha256(read_foreign(path)).hexdigest()
    return ""


def read_foreign_text(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """Return a file's text, with U+FFFD in place of what is no UTF-8.

    Raises:
        OSError: As `read_foreign`.
    """
    return read_foreign(path, most_bytes).decode("utf-8-sig", errors="replace")


def read_both_ends(path: Path, most_bytes: int) -> str:
    """Return a file's text; of a file that is longer, the first and the last bytes, and between them a line that counts the others.

    Args:
        path: The file.
        most_bytes: How much of it is read at most.

    Raises:
        OSError: As `open_foreign`.
    """
    with open_foreign(path) as file:
        head = file.read(most_bytes)
        middle = file.seek(0, os.SEEK_END) - most_bytes
        if middle <= 0:  # a file that grows is read as far as it was
            return head.decode(errors="replace")
        half = most_bytes // 2
        file.seek(-half, os.SEEK_END)
        tail = file.read(half)
    left_out = f"\n[{middle:,} bytes are left out here; {path} has them]\n"
    return f"{head[:half].decode(errors='replace')}{left_out}{tail.decode(errors='replace')}"


def open_foreign(path: Path) -> BufferedReader:
    """Open a file for reading, of which only a part is needed.

    Raises:
        OSError: It cannot be opened, is not a regular file, or has a name that no file can have.
    """
    try:
        if not S_ISREG(path.stat().st_mode):
            raise OSError(EINVAL, NO_FILE, str(path))
        # What took the file's place in the meantime is not waited for.
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb")
    except ValueError as error:  # a zero byte, or half of a character
        raise OSError(EINVAL, "no file can have this name", str(path)) from error
    if not S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(EINVAL, NO_FILE, str(path))
    return file


def is_there(path: Path) -> bool:
    """True if there is a file or a folder; a name that none can have is not there."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """True if there is a regular file; a name that none can have is not there."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """True if there is a folder; a name that none can have is not there."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def real_path(path: Path) -> Path:
    """Return a path without links; those that lead in a circle stay."""
    return Path(os.path.realpath(path))


def expanded(name: str | Path) -> Path:
    """Return the path that a name means; `~nobody`, who has no home here, stays as it is."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return Path(name)
