"""Reading files that others wrote, or put there: regular ones, and no more of them than their kind needs."""

from errno import EFBIG, EINVAL
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 50_000_000
"""No script, notebook, job file or declaration is larger; data and logs are read in parts."""


def read_foreign(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return a file's content.

    Raises:
        OSError: It cannot be read, is no regular file (a FIFO would be waited for, a device never ends), or is too large.
    """
    size = path.stat().st_size
    if not path.is_file():
        raise OSError(EINVAL, "it is no regular file", str(path))
    if size > most_bytes:
        raise OSError(EFBIG, f"it is larger than {most_bytes // 1_000_000} MB", str(path))
    return path.read_bytes()
