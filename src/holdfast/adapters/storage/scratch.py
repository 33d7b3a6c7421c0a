"""Folders for the time of a block. Those that a killed process left behind are removed when the next one of their kind is made.

Covered: a kill at any moment but the few instructions between the making of a folder and of its lock: that one is empty, and stays.
Not covered: folders on a machine that shares its files without locks.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Final

from holdfast.adapters.storage.locks import is_held
from holdfast.core.errors import UsageError

HELD: Final = ".scratch.lock"
"""The file in a folder that its process keeps locked."""


@contextmanager
def scratch_folder(prefix: str, parent: Path | None = None) -> Iterator[str]:
    """Give a new folder within the block.

    Args:
        prefix: How its name begins, and that of all of its kind.
        parent: The folder in which it is made. Default: that for temporary files.

    Raises:
        UsageError: There is no folder for temporary files, or it cannot be written.
        OSError: `parent` cannot be written.
    """
    try:
        base = str(parent or tempfile.gettempdir())
        _remove_left(Path(base), prefix)
        made = tempfile.TemporaryDirectory(dir=base, prefix=prefix, ignore_cleanup_errors=True)
    except OSError as error:
        if parent is not None:
            raise
        what = f"no temporary folder can be made: {error.strerror or error}"
        raise UsageError(what, where="TMPDIR", fix="set TMPDIR to a folder that can be written") from error
    with made as folder:
        held = _hold(Path(folder))
        try:
            yield folder
        finally:
            os.close(held)


def _hold(folder: Path) -> int:
    """Lock a folder: the lock gets its name only after it is held, so that no other process takes the folder for left behind."""
    draft = folder / f"{HELD}.new"
    held = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with suppress(OSError):  # on a file system without locks, the folder is never taken for left behind
        flock(held, LOCK_EX)
        draft.rename(folder / HELD)
    return held


def _remove_left(base: Path, prefix: str) -> None:
    """Remove the folders of a kind whose processes have ended."""
    for folder in base.glob(f"{prefix}*"):
        lock = folder / HELD
        with suppress(OSError):  # another process removes it, or it belongs to another user
            own = folder.lstat().st_uid == os.geteuid() and not folder.is_symlink()
            if own and lock.is_file() and not lock.is_symlink() and not is_held(lock):
                shutil.rmtree(folder, ignore_errors=True)
