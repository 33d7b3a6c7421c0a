"""What was retrieved of a run, in its folder on this machine."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.storage.private_files import make_private, open_private
from holdfast.core.text.json_text import parse_json
from holdfast.ports import RemoteFile

VERSIONS: Final = "retrieved.jsonl"
"""The version of each file that was retrieved."""


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

    def files(self) -> Mapping[str, RemoteFile]:
        """Return each file by its path in the folder, with the version of which it is a copy; empty if none was noted."""
        versions, found = self._versions(), dict[str, RemoteFile]()
        for folder, _, names in os.walk(self._folder):
            for path in (Path(folder, name) for name in names):
                name = path.relative_to(self._folder).as_posix()
                found[name] = RemoteFile(path.lstat().st_size, versions.get(name, ""))
        return found

    def note_version(self, name: str, version: str) -> None:
        """Note that the file is a copy of this version; the last note counts."""
        with open_private(self._folder / VERSIONS, "ab") as file:
            file.write(f"\n{json.dumps({name: version})}\n".encode())  # the note before it may have been cut

    def _versions(self) -> Mapping[str, str]:
        versions = dict[str, str]()
        with suppress(FileNotFoundError):
            for line in (self._folder / VERSIONS).read_bytes().splitlines():
                with suppress(ValueError, TypeError):  # a note that was cut: the file is fetched again
                    versions |= parse_json(line)
        return versions

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
