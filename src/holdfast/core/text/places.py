"""Texts and places in them: lines and columns count from 1, in characters; ends are exclusive."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

LINE_BREAK: Final = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value came from. Lines and columns count from 1, in characters; ends are exclusive.

    Attributes:
        path: The file, or what else said so: `--set`, an environment variable.
        line: None if the origin has no lines. In a notebook, counted in its cell.
        cell: Of a notebook, counted from 1.
        origin: Of a value that an override gives, what kind: `on the command line`. Empty for a file.
    """

    path: str
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    cell: int | None = None
    origin: str = ""


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Replace the characters from `start` up to `end`; both are (line, column), counted from 1; in a notebook's cell.

    Attributes:
        path: Of an edit in another file than the document's own, such as a module beside a script; else empty.
    """

    start: tuple[int, int]
    end: tuple[int, int]
    text: str
    cell: int | None = None
    path: str = ""


NOWHERE: Final = Place("")
"""The place of what no file says."""


@dataclass(frozen=True, slots=True)
class LineIndex:
    r"""The lines of a text, to turn offsets into places and back. They end in `\n`, `\r\n` or `\r`.

    Attributes:
        text: The whole text.
        starts: Offset of each line's first character.
    """

    text: str
    starts: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        breaks = LINE_BREAK.finditer(self.text)
        object.__setattr__(self, "starts", (0, *(found.end() for found in breaks)))

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and column, counted from 1, of the character at an offset."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def offset(self, position: tuple[int, int]) -> int:
        """Return the offset of a line and column."""
        line, column = position
        return self.starts[line - 1] + column - 1

    def place(self, path: str, start: int, end: int) -> Place:
        """Return the characters from one offset up to another as a place in a file."""
        return Place(path, *self.position(start), *self.position(end))


def apply_text_edits(text: str, edits: Iterable[TextEdit]) -> str:
    r"""Return the text with every edit made.

    Raises:
        ValueError: Two of them overlap.

    >>> apply_text_edits("a: 1\n", [TextEdit((1, 4), (1, 5), "2")])
    'a: 2\n'
    """
    lines = LineIndex(text)
    parts: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        start, end = lines.offset(edit.start), lines.offset(edit.end)
        if not done <= start <= end:
            raise ValueError(f"text edits overlap at line {edit.start[0]}, column {edit.start[1]}")
        parts += (text[done:start], edit.text)
        done = end
    return "".join((*parts, text[done:]))
