"""What was retrieved of a run, in its folder on this machine."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.storage.private_files import make_private, open_private


class RetrievedCopies:
    """The run's folder, as what is retrieved goes there.

    Args:
        folder: The run's folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write_log(self, attempt: int, position: int, text: bytes) -> None:
        """Write text into the log of an attempt: of both streams, hence `stdout.log` alone."""
        if text:
            with open_private(self._folder / "attempts" / str(attempt) / "stdout.log", "r+b") as file:
                file.seek(position)
                file.write(text)
                file.truncate()

    def sizes(self) -> Mapping[str, int]:
        """Return the size of each file, by its path in the folder."""
        found = {}
        for folder, _, names in os.walk(self._folder):
            for path in (Path(folder, name) for name in names):
                found[path.relative_to(self._folder).as_posix()] = path.lstat().st_size
        return found

    def path(self, name: str) -> str:
        """Return the whole path of a file, whose folder exists from now on."""
        path = self._folder / name
        make_private(path.parent)
        return str(path)

    def read(self, name: str) -> str:
        """Return the text of a file; empty if it cannot be read."""
        with suppress(OSError):
            return read_foreign_text(self._folder / name)
        return ""
