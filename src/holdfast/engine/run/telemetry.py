"""The events of a training process that travel in its log, and the log without them.

`payload/runtime.py` writes each event as marked lines, with its number and a checksum:

    @holdfast:CRC32:PROCESS:NUMBER:PART/PARTS:TEXT@

So whatever happens to a log on its way shows: what is missing, doubled, out of order, cut, or mixed with other text. A line may
begin in the middle of another, such as a progress bar that is being drawn.
"""

import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from holdfast.core.run.training_event import event_of_line
from holdfast.ports import LogPart

MARK: Final = b"@holdfast:"
LINE: Final = re.compile(rb"@holdfast:([0-9a-f]{8}):((\w+):(\d+):(\d+)/(\d+):([^@\r\n]*))@(?:\r?\n)?")
DAMAGED: Final = re.compile(rb"@holdfast:[^@\r\n]*@?(?:\r?\n)?")
UNFINISHED: Final = re.compile(rb"@holdfast:[^@\r\n]{0,4000}\Z")
"""A marked line whose rest may follow: none is longer."""
CUT_OFF: Final = re.compile(rb"@holdfast:[0-9a-f]{0,8}(:|\Z)")
"""How a marked line begins that was cut off."""
NEWLINE: Final = re.compile(rb"\r?\n")
MOST_READINGS: Final = 10
"""How often a log is read from its start to find an event; then the event is lost."""


@dataclass(frozen=True, slots=True)
class MarkedLine:
    """A line that carries an event, or part of one."""

    process: str
    number: int
    part: int
    parts: int
    text: bytes

    @property
    def place(self) -> tuple[int, int]:
        """Its place among the lines of its process."""
        return self.number, self.part


@dataclass(frozen=True, slots=True)
class DamagedLine:
    """A marked line that is not as it was written."""


@dataclass(frozen=True, slots=True)
class CarriedEvent:
    """An event that arrived."""

    process: str
    number: int
    said: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LostEvents:
    """Events that did not arrive, however often the log was read: those from `first` to `last`."""

    process: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class LogNews:
    """What a part of a log had that was not read before.

    Attributes:
        events: The events, each once and in order.
        text: The other text.
        position: Where this text belongs in all of the other text. It replaces what was returned from there on.
    """

    events: Sequence[CarriedEvent | LostEvents] = ()
    text: bytes = b""
    position: int = 0


@dataclass(slots=True)
class SplitLog:
    """Some of a log, split.

    Attributes:
        pieces: The marked lines, and the text between them.
        length: The bytes that were split: all but a marked line at the end that is not finished.
    """

    pieces: list[bytes | MarkedLine | DamagedLine]
    length: int


def split_log(data: bytes) -> SplitLog:
    r"""Split a log into its marked lines and the text between them.

    >>> split_log(b"  5%|#\r@holdfast:cut@\n 10%|##@hold")
    SplitLog(pieces=[b'  5%|#\r', DamagedLine(), b' 10%|##'], length=29)
    """
    split = SplitLog([], 0)
    while (start := data.find(MARK, split.length)) >= 0:
        split.pieces.append(data[split.length : start])
        split.length = start
        if UNFINISHED.match(data, start):
            return split
        found = LINE.match(data, start)
        if found and zlib.crc32(found[2]) == int(found[1], 16):
            line = MarkedLine(found[3].decode(), int(found[4]), int(found[5]), int(found[6]), found[7])
            split.pieces.append(line)
        else:
            found = DAMAGED.match(data, start)
            split.pieces.append(DamagedLine())
        split.length = found.end() if found else start + len(MARK)
    end = len(data) - _begun_mark(data[split.length :])
    split.pieces.append(data[split.length : end])
    split.length = end
    return split


def in_order(pieces: Sequence[bytes | MarkedLine | DamagedLine]) -> Iterator[bytes | MarkedLine | DamagedLine]:
    """Yield the pieces of a log, the marked lines of each process in the order of their numbers: a clock may have been set back."""
    lines = defaultdict[str, list[MarkedLine]](list)
    for piece in pieces:
        if isinstance(piece, MarkedLine):
            lines[piece.process].append(piece)
    ordered = {process: iter(sorted(own, key=lambda line: line.place)) for process, own in lines.items()}
    for piece in pieces:
        yield next(ordered[piece.process]) if isinstance(piece, MarkedLine) else piece


def _begun_mark(data: bytes) -> int:
    """Return the length of the beginning of a mark that data ends with."""
    return next((length for length in range(len(MARK) - 1, 0, -1) if data.endswith(MARK[:length])), 0)


class TelemetryReader:
    """Reads the log of one attempt, part by part, each from `offset` on.

    If an event is missing, the log is read again from its start: services lose lines for a while, or for good.

    Args:
        heard: The number of the last event that is known already, by process.

    Attributes:
        offset: Where the next part has to begin.
        missing: True if an event is known to be missing that may still arrive.
        ended: True if the last event said that its process ends.
    """

    def __init__(self, heard: Mapping[str, int] | None) -> None:
        self._due = {process: (number + 1, 1) for process, number in (heard or {}).items()}
        self._pieces: dict[str, bytes] = {}
        self._position = self._readings = 0
        self._newline_follows = False
        self.offset, self.missing, self.ended = 0, False, False

    def feed(self, part: LogPart) -> LogNews:
        """Return what is new in a part; nothing if it begins behind `offset`."""
        data = self._unread(part)
        if not data:
            return LogNews(position=self._position)
        newline = NEWLINE.match(data) if self._newline_follows else None
        skipped = newline.end() if newline else 0
        split = split_log(data[skipped:])
        events, text, missing = self._read_pieces(in_order(split.pieces))
        news = LogNews(events, text, self._position)
        self._note_missing(events, missing=missing)
        if self.missing:
            self.start_again()
        else:
            self.offset += skipped + split.length
            self._position += len(text)
            self._newline_follows = not split.pieces[-1] and data[: skipped + split.length].endswith(b"@")
        return news

    def _unread(self, part: LogPart) -> bytes:
        """Return the unread data of a part; nothing if it begins behind `offset`."""
        return part.data[self.offset - part.offset :] if part.offset <= self.offset else b""

    def _read_pieces(
        self, pieces: Iterator[bytes | MarkedLine | DamagedLine]
    ) -> tuple[list[CarriedEvent | LostEvents], bytes, bool]:
        """Return the events and the text of pieces, up to a line before which others are missing; and whether a line is missing."""
        events, text, missing = list[CarriedEvent | LostEvents](), bytearray(), False
        for piece in pieces:
            if isinstance(piece, bytes):
                text += piece
            elif isinstance(piece, DamagedLine):
                missing = True
            elif self._waits_before(piece):
                return events, bytes(text), True
            else:
                events += self._take(piece)
                missing = False
        return events, bytes(text), missing

    def _waits_before(self, line: MarkedLine) -> bool:
        """True if lines before this one are missing that may still arrive."""
        return line.place > self._due.get(line.process, (1, 1)) and self._readings < MOST_READINGS

    def finish(self, part: LogPart) -> LogNews:
        """Return the text at the end of a log that is complete, which might have been the beginning of a marked line."""
        rest = self._unread(part)
        return LogNews(text=b"" if CUT_OFF.match(rest) else rest, position=self._position)

    def start_again(self) -> None:
        """Read the log from its start. What was damaged on its way without showing comes right then."""
        self.offset, self._position, self._newline_follows = 0, 0, False

    def _note_missing(self, events: Sequence[CarriedEvent | LostEvents], *, missing: bool) -> None:
        """Note whether an event is missing after a part that has some new ones; after many readings it is not waited for."""
        if any(isinstance(event, CarriedEvent) for event in events):
            self._readings = 0
        self.missing = missing and self._readings < MOST_READINGS
        self._readings += self.missing

    def _take(self, line: MarkedLine) -> Iterator[CarriedEvent | LostEvents]:
        """Yield the event that a line completes, after those before it that are given up as lost."""
        due = self._due.get(line.process, (1, 1))
        if line.place > due:
            last = line.number if line.part > 1 else line.number - 1
            yield LostEvents(line.process, due[0], last)
            due = self._due[line.process] = (last + 1, 1)
            self._pieces.pop(line.process, None)
        if line.place != due:
            return  # it is known
        text = self._pieces.pop(line.process, b"") + line.text
        if line.part < line.parts:
            self._due[line.process], self._pieces[line.process] = (line.number, line.part + 1), text
            return
        event = event_of_line(text)
        self._due[line.process], self.ended = (line.number + 1, 1), event.get("event") == "end"
        yield CarriedEvent(line.process, line.number, event)
