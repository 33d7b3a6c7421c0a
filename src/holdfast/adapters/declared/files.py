"""Files that declare something, read with the care that other people's files need."""

from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import read_foreign
from holdfast.core.text.places import LineIndex, Place

LARGEST_BYTES: Final = 8_000_000
"""A lock file of a large project has a few of them; what is larger was not written to declare anything."""


def load_text(path: Path) -> str | None:
    """Return a file's text; None if there is no such file, or it is too large or no text."""
    try:
        return read_foreign(path, LARGEST_BYTES).decode("utf-8-sig")
    except (OSError, ValueError):
        return None


class Finder:
    """Finds where values stand in a text that was parsed by something that does not tell."""

    def __init__(self, text: str, path: str, *, start: int = 0, end: int | None = None) -> None:
        """Take the text.

        Args:
            text: All of the file.
            path: Its name.
            start: Offset of the part in which to look.
            end: Offset of that part's end.
        """
        self._lines, self._path = LineIndex(text), path
        self._at, self._start, self._end = start, start, len(text) if end is None else end

    def place(self, value: str) -> Place:
        """Return where a value is written next, or again; the file alone if it is not to be found."""
        text = self._lines.text
        for start in (self._at, self._start):
            for quote in ('"', "'", ""):
                found = text.find(f"{quote}{value}{quote}", start, self._end) if value or quote else -1
                if found >= 0:
                    self._at = found + len(value) + 2 * len(quote)
                    return self._lines.place(self._path, found, self._at)
        return Place(self._path)
