"""A text seen line by line, and the changes that can be made to it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from holdfast.adapters.yaml.tree import Child
from holdfast.core.text.places import LINE_BREAK, LineIndex, TextEdit

BYTE_ORDER_MARK = "\ufeff"
COMMENT = re.compile(r"(?P<comma>[ \t]*,)?[ \t]*(#.*)?")


class Splice(NamedTuple):
    """Put a text in place of the characters from one offset up to another."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class SourceLines:
    """A text and its lines.

    Attributes:
        text: The whole text.
        lines: Where its lines begin.
        newline: How they end; the first one tells.
    """

    text: str
    lines: LineIndex = field(init=False)
    newline: str = field(init=False)

    def __post_init__(self) -> None:
        found = LINE_BREAK.search(self.text)
        object.__setattr__(self, "lines", LineIndex(self.text))
        object.__setattr__(self, "newline", found[0] if found else "\n")

    def line_start(self, offset: int) -> int:
        """Return the offset of the first character of the line."""
        line, _ = self.lines.position(offset)
        return self.lines.starts[line - 1] or int(self.text.startswith(BYTE_ORDER_MARK))

    def line_end(self, offset: int) -> int:
        """Return the offset of the line's break, or of the text's end."""
        found = LINE_BREAK.search(self.text, offset)
        return found.start() if found else len(self.text)

    def column(self, offset: int) -> int:
        """Return the column of an offset: the number of characters before it on its line."""
        return offset - self.line_start(offset)

    def begins_line(self, child: Child) -> bool:
        """True if nothing but blanks stands before an entry on its line."""
        return not self.text[self.line_start(child.start) : child.start].strip()

    def trailing(self, child: Child) -> re.Match[str] | None:
        """Match what follows an entry on its line, if that is at most a comma and a comment."""
        return COMMENT.fullmatch(self.text, child.node.end, self.line_end(child.node.end))

    def without_lines(self, start: int, end: int) -> Splice:
        """Return the deletion of whole lines with one break: the break before them where none follows."""
        first, last = self.line_start(start), self.line_end(end)
        if found := LINE_BREAK.match(self.text, last):
            return Splice(first, found.end(), "")
        line, _ = self.lines.position(first)
        return Splice(self.line_end(self.lines.starts[line - 2]) if line > 1 else first, last, "")

    def with_lines(self, offset: int, column: int, lines: Iterable[str]) -> Splice:
        """Return the insertion of lines under the one an offset is in."""
        end = self.line_end(offset)
        return Splice(end, end, "".join(f"{self.newline}{' ' * column}{line}" for line in lines))


class EditedText:
    """A text under edit that knows which of its characters are the original's, and where they stood."""

    def __init__(self, text: str) -> None:
        self.original = self.text = text
        self.origins: list[int | None] = list(range(len(text)))

    def make(self, splices: Iterable[Splice]) -> None:
        """Make changes that were all placed in the present text; insertions at one place stand in their order."""
        waiting = sorted(splices, key=lambda splice: splice[:2])
        while waiting:  # from the last one back, so that the places of the others stay
            start, end, text = waiting.pop()
            self.text = self.text[:start] + text + self.text[end:]
            self.origins[start:end] = [None] * len(text)

    def edits(self) -> tuple[TextEdit, ...]:
        """Return the changes to the original as edits that do not overlap."""
        lines = LineIndex(self.original)
        edits: list[TextEdit] = []
        kept, new = 0, ""
        for character, origin in (*zip(self.text, self.origins, strict=True), ("", len(self.original))):
            if origin is None:
                new += character
                continue
            if origin > kept or new:
                edits.append(TextEdit(lines.position(kept), lines.position(origin), new))
            kept, new = origin + 1, ""
        return tuple(edits)
