"""Digests of the files and folders that a job names: what they hold, wherever they lie.

Covered: small files whole, and large ones where that is wanted. Otherwise, of a large one, its size and parts spread over it: weights that
were trained on differ in every part. Not covered then: a change of a few bytes between these parts, and files of a folder after many others.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import open_foreign

WHOLE_BYTES: Final = 256 << 20
"""Files up to this size are read whole, which takes less than a second."""
PARTS: Final = 64
PART_BYTES: Final = 1 << 20
MOST_FILES: Final = 10_000


def digest_path(path: Path, *, whole: bool = False) -> str:
    """Return a digest of a file, or of the files in a folder, by their names and contents.

    Args:
        path: The file or folder.
        whole: Read every byte of every file, however long that takes.

    Raises:
        OSError: The file cannot be read.
    """
    if not path.is_dir():
        return _digest_file(path, whole=whole)
    found = sha256()
    for number, each in enumerate(_files_in(path)):
        if number == MOST_FILES and not whole:
            break
        content = ""  # of a link that leads nowhere, or a file that may not be read, only the name counts
        with suppress(OSError):
            content = _digest_file(each, whole=whole)
        found.update(f"{each.relative_to(path)}\0{content}\0".encode(errors="replace"))
    return found.hexdigest()


def _files_in(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder, none that is hidden or made by Python, in the order of their names."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        yield from (Path(parent, name) for name in sorted(names) if not name.startswith("."))


def _digest_file(path: Path, *, whole: bool) -> str:
    stat = path.stat()
    return _digest_version(path, stat.st_size, stat.st_mtime_ns, whole or stat.st_size <= WHOLE_BYTES)


@cache
def _digest_version(path: Path, size: int, _changed_ns: int, whole: bool) -> str:  # noqa: FBT001 - a key of the cache
    """Return the digest of a file as it is since its last change."""
    found = sha256(str(size).encode())
    with open_foreign(path) as file:
        if whole:
            while part := file.read(PART_BYTES):
                found.update(part)
        else:
            for number in range(PARTS):
                file.seek(number * (size - PART_BYTES) // (PARTS - 1))
                found.update(file.read(PART_BYTES))
    return found.hexdigest()
