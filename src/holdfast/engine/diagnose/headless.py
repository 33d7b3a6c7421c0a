"""Tracebacks that are read from their exception upwards, where a log was cut above them; messages of which one line is known."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, takewhile
from typing import Final

from holdfast.core.diagnose.log import Frame, Line, Traceback
from holdfast.engine.diagnose.tracebacks import (
    ANY_ERROR,
    ARROW,
    ERROR,
    FRAME,
    MESSAGE_LINES,
    START,
    PartialTraceback,
    cell_frame,
    ends_message,
)

CUT_FRAME: Final = re.compile(r'(?:^\s*File ")?([^"\s]*)", line (\d+)(?:, in (\S.*?)?)?\s*$')
"""A frame of which the beginning may be missing too."""
LISTED: Final = re.compile(r"^\s*\d+(?:\s|$)")
"""A line beside it."""
LEADING: Final = 4
"""Lines before a traceback that stand around what it ends in."""
MOST_STRANGE: Final = 2
"""Lines that others may have written between two lines of a traceback whose beginning is missing."""


def read_headless(error: Sequence[Line], before: Iterator[Line]) -> Traceback | None:
    """Return the frames that stand right before an exception, in a log that was cut above them; None if there are none.

    Args:
        error: The exception and what of its message was read.
        before: The lines before it of the same rank, the nearest first.
    """
    upwards = _Upwards(error)
    above: list[Line] = []
    for line in before:
        above = [*above, line]
        if not upwards.take(line):
            break
        if upwards.reading.start is line:
            above = []
    found = upwards.done()
    if found is None:
        return None
    leading = [line for line in (*above, *islice(before, LEADING)) if line.text.strip()][:LEADING]
    return replace(found, before=tuple(reversed(leading)))


class _Upwards:
    """A traceback that is read from its exception to its beginning."""

    def __init__(self, error: Sequence[Line]) -> None:
        self.reading = PartialTraceback(error[0], error=list(error))
        self.code, self.at = "", 0
        self.is_apart = False
        self.strange = 0

    def take(self, line: Line) -> bool:
        """Read the line above; tell whether it may be part of the traceback."""
        text = line.text
        frame = self._frame(text)
        if frame:
            self.reading.frames.insert(0, replace(frame, named_at=line))
            self.code, self.at, self.strange = "", 0, 0
        elif arrow := ARROW.match(text):
            self.code, self.at = (arrow[2] or "").strip(), int(arrow[1])
        elif not text.strip():
            return self._is_gap()
        elif text[0] in " \t":
            self._add_code(text)
        else:
            return self._is_between(text)
        self.reading.start = line
        return True

    def done(self) -> Traceback | None:
        """Return the traceback read so far."""
        if self.code and not self.reading.frames and not (self.is_apart or self.strange):
            self.reading.frames.append(Frame("", 0, "", self.code))
        return self.reading.done() if self.reading.frames else None

    def _frame(self, text: str) -> Frame | None:
        if found := CUT_FRAME.search(text):
            return None if self.is_apart else Frame(found[1], int(found[2]), found[3] or "<module>", self.code)
        cell = cell_frame(text)
        return replace(cell, line=cell.line or self.at, code=self.code) if cell else None

    def _add_code(self, text: str) -> None:
        if not self.at and text.strip("^~ ") and not (self.is_apart and LISTED.match(text)):
            self.code = text.strip()

    def _is_gap(self) -> bool:
        """True if a blank line may stand there: between the frames of notebooks, and behind them."""
        apart, self.is_apart = self.is_apart, True
        return not self.code and (not apart or bool(self.reading.frames))

    def _is_between(self, text: str) -> bool:
        """True if a line may be what another process wrote into the traceback."""
        self.strange += 1
        return self.strange <= MOST_STRANGE and not ANY_ERROR.match(text) and START not in text


def message_above(line: Line, before: Iterator[Line]) -> list[Line]:
    """Return the lines of an exception's message down to one of them, the exception itself first; none of another line.

    Args:
        line: A later line of the message.
        before: The lines before it of the same rank, the nearest first; read up to the exception.
    """
    message = [line]
    for each in islice(before, MESSAGE_LINES):
        message.insert(0, each)
        if ERROR.match(each.text.lstrip("> ")):
            return message
        if ends_message(each.text) or START in each.text or FRAME.match(each.text):
            break
    return []


def message_below(behind: Iterator[Line]) -> list[Line]:
    """Return the lines with which an exception's message goes on.

    Args:
        behind: The lines behind the exception of the same rank.
    """
    within = takewhile(lambda line: not (ends_message(line.text) or _begins_another(line.text)), behind)
    return list(islice(within, MESSAGE_LINES - 1))


def _begins_another(text: str) -> bool:
    return START in text or any(each.match(text.lstrip("> ")) for each in (ERROR, FRAME))
