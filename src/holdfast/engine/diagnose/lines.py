"""Single lines of a window, found by where a word stands in it, and the lines around them."""

import re
from collections.abc import Iterator
from typing import Final

from holdfast.core.diagnose.log import Line
from holdfast.engine.diagnose.cleaning import Cleaned, clean, decode, is_bar
from holdfast.engine.diagnose.unpacking import JOINED, SOFT, feeds
from holdfast.engine.diagnose.windows import Window

BEFORE: Final = 4 * 2**10
"""Bytes of a line that are read before the word that was found in it."""
BEHIND: Final = 12 * 2**10
"""And behind it."""
SOME: Final = 4 * 2**10
"""Bytes from which it is learnt what stands before each line."""
STATES: Final = 4
"""Last states of a line that was written over with carriage returns: the text that a bar was glued to is among them."""
LINES_BEFORE: Final = 4
LINES_BEHIND: Final = 6
BAR_BYTES: Final = 512
LOOK: Final = 60
"""Lines that are looked through, either way, for those of the same rank."""


class WindowLines:
    """The lines of one window. Each is cleaned once, and numbered by counting line feeds from the last one that was read."""

    def __init__(self, window: Window, path: str, rank: int | None, collector: re.Pattern[str] | None = None) -> None:
        self.window, self.path, self.rank = window, path, rank
        self.collector = collector
        self.data = window.data
        self._counted = (window.start, window.number)
        self._cleaned: dict[int, Line] = {}

    def texts(self) -> list[str]:
        """Return some of the lines: those of the first kilobytes, of some in the middle, and of the last of the data."""
        middle, last = len(self.data) // 2, max(0, len(self.data) - SOME)
        parts = [self.data] if len(self.data) <= 3 * SOME else [self.data[at : at + SOME] for at in (0, middle, last)]
        lines = [line for part in parts for line in part.split(b"\n")[part is not self.data :]]
        return [clean(decode(line)).text for line in lines if b"\r" not in line and not line.startswith((SOFT, JOINED))]

    def number_at(self, position: int) -> int:
        """Return the number of the line in which a byte of `data` stands."""
        at, number = self._counted
        if position >= at:
            number += feeds(self.data, at, position)
        else:
            number -= feeds(self.data, position, at)
        self._counted = (position, number)
        return number

    def bounds(self, position: int) -> tuple[int, int]:
        """Return where the state of the line begins and ends in which a byte stands: between line feeds or carriage returns."""
        low = max(0, position - BEFORE)
        start = max(self.data.rfind(b"\n", low, position), self.data.rfind(b"\r", low, position)) + 1
        high = min(len(self.data), position + BEHIND)
        ends = [at for at in (self.data.find(b"\n", position, high), self.data.find(b"\r", position, high)) if at >= 0]
        return max(start, low), min(ends, default=high)

    def line_at(self, position: int) -> Line:
        """Return the line, or its state, in which a byte stands."""
        start, end = self.bounds(position)
        return self._line(start, end)

    def behind(self, position: int) -> Iterator[tuple[int, Line]]:
        """Yield the lines after the one in which a byte stands, each with where it begins; blank ones too."""
        start = self._next(position)
        while start is not None and start < len(self.data):
            after = self._next(start)
            if not self.data.startswith(JOINED, start):
                yield start, self._whole_line(start, len(self.data) if after is None else after - 1)
            start = after

    def behind_by(self, writer: tuple[int | None, str], position: int) -> Iterator[Line]:
        """Yield the lines that one writer wrote after the line in which a byte stands."""
        return (line for _, line in self.behind(position) if line.writer == writer)

    def before(self, position: int) -> Iterator[tuple[int, Line]]:
        """Yield the lines before the one in which a byte stands, the nearest first; blank ones too."""
        end = self.data.rfind(b"\n", 0, position)
        while end > 0:
            start = self.data.rfind(b"\n", 0, end) + 1
            if not self.data.startswith(JOINED, start):
                yield start, self._whole_line(start, end)
            end = start - 1

    def before_by(self, writer: tuple[int | None, str], position: int) -> Iterator[Line]:
        """Yield the lines that one writer wrote before the line in which a byte stands, the nearest first."""
        return (line for _, line in self.before(position) if line.writer == writer)

    def bar_behind(self, position: int) -> str:
        """Return the progress bar that the next line begins with; empty if it begins with something else.

        Whoever writes a line above a bar draws the bar anew below it, at the step that the line is of.
        """
        begins = self._next(position) or len(self.data)
        states = re.split(rb"[\r\n]+", self.data[begins : begins + BAR_BYTES].lstrip())
        text = clean(decode(states[0])).text
        return text if is_bar(text) else ""

    def unfinished(self) -> Iterator[tuple[int, Line]]:
        """Yield the last line if it has no line feed, with where it begins."""
        start = self.data.rfind(b"\n") + 1
        if start < len(self.data):
            yield start, self._whole_line(start, len(self.data))

    def around(self, position: int, line: Line) -> tuple[Line, ...]:
        """Return the lines of the same rank and source around one: four before and six behind, without bars and blanks.

        As many lines without a rank or source stay among them: warnings, and what trainers write of saving, mostly have no
        prefix. A bar right beside the line stays too: it tells at which step the line was written.
        """
        return (*self.leading(position, line), *self._near(self.behind(position), line, LINES_BEHIND))

    def leading(self, position: int, line: Line) -> tuple[Line, ...]:
        """Return the lines before one that stand around it, in order."""
        return tuple(reversed(self._near(self.before(position), line, LINES_BEFORE)))

    def _near(self, lines: Iterator[tuple[int, Line]], like: Line, most: int) -> list[Line]:
        found: list[Line] = []
        apart = set[tuple[int | None, str]]()  # whose last line was left out: a bar behind it is not beside
        left = {like.writer: most, (self.rank, ""): most}
        for _, (_, line) in zip(range(LOOK), lines, strict=False):
            key = line.writer
            is_kept = bool(line.text.strip()) and (key not in apart or not is_bar(line.text))
            (apart.discard if is_kept else apart.add)(key)
            if is_kept and left.get(key):
                found.append(line)
                left[key] -= 1
            if not left[like.writer]:
                break
        return found

    def _next(self, position: int) -> int | None:
        end = self.data.find(b"\n", position)
        return None if end < 0 else end + 1

    def _whole_line(self, start: int, end: int) -> Line:
        """Return a line as it stood on the screen in the end: the last state that is more than a bar."""
        known = self._cleaned.get(start)
        if known is not None:
            return known
        states = self.data[max(start, end - BEHIND) : end].rsplit(b"\r", STATES)
        number = self.number_at(start)
        cleaned = [clean(decode(state)) for state in states[-STATES:] if state.strip()]
        texts = [each for each in cleaned if not is_bar(each.text)] or cleaned
        line = self._made(number, texts[-1] if texts else Cleaned(""))
        self._cleaned[start] = line
        return line

    def _line(self, start: int, end: int) -> Line:
        known = self._cleaned.get(start)
        if known is None:
            known = self._made(self.number_at(start), clean(decode(self.data[start:end])))
            self._cleaned[start] = known
        return known

    def _made(self, number: int, cleaned: Cleaned) -> Line:
        rank = self.rank if cleaned.rank is None else cleaned.rank
        text = cleaned.text if self.collector is None else self.collector.sub("", cleaned.text, count=1)
        return Line(number, text, self.path, rank, cleaned.source, cleaned.at_s, cleaned.bar)
