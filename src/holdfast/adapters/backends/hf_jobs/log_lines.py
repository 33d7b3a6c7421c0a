"""The lines of a log that is replayed at each connection: shorter, doubled, out of order, or with lines missing.

A line is known by its time and its text. The lines of all connections together make up the log, in the order of their times.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from holdfast.adapters.hub.repos import parse_time
from holdfast.core.text.json_text import parse_json

STARTED: Final = "===== Job started"
"""How a line begins that the Hub itself writes, once or again and again."""
SHUFFLED_S: Final = 60.0
"""How much earlier a line may be than one before it and still be put in its place; beyond that, a clock was set back."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line, and the time that the Hub gives it."""

    time: str
    text: str


def split_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    r"""Yield the lines of a stream of bytes. Only `\n` ends a line: a text may have any other separator of Unicode.

    >>> list(split_lines([b"a\nb", b"c\n\n", b"cut"]))
    [b'a', b'bc', b'', b'cut']
    """
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
    if rest:
        yield rest


def parse_event(line: bytes) -> LogLine | None:
    """Return the line of the log that an event of the stream carries; None for a sign of life, or half an event.

    >>> parse_event(b'data: {"data": "loss 0.1", "timestamp": "2026-01-02T00:00:00Z"}').text
    'loss 0.1'
    >>> parse_event(b'data: {"data": "loss'), parse_event(b": keep-alive")
    (None, None)
    """
    if not line.startswith(b"data: {"):
        return None
    try:
        event = parse_json(line.removeprefix(b"data: "))
        text, time = event["data"], event.get("timestamp")
    except (ValueError, KeyError, AttributeError):
        return None
    if not isinstance(text, str) or text.startswith(STARTED):
        return None
    return LogLine(time if isinstance(time, str) else "", text)


class MergedLog:
    """The lines of a log, whichever connection brought them."""

    def __init__(self) -> None:
        self._counts = Counter[LogLine]()
        self._times: list[float] = []
        self._lines: list[bytes] = []
        self._data = bytearray()

    @property
    def size(self) -> int:
        """Bytes of the log."""
        return len(self._data)

    @property
    def count(self) -> int:
        """Lines of the log."""
        return len(self._lines)

    def read(self, offset: int) -> bytes:
        """Return the log from an offset on."""
        return bytes(self._data[offset:])

    def count_of(self, line: LogLine) -> int:
        """Return how often the log has a line."""
        return self._counts[line]

    def insert(self, at_s: float, line: LogLine) -> None:
        """Put a line behind all others that are not later."""
        place = bisect_right(self._times, at_s)
        data = line.text.encode(errors="replace") + b"\n"
        offset = len(self._data) - sum(map(len, self._lines[place:]))
        self._data[offset:offset] = data
        self._times.insert(place, at_s)
        self._lines.insert(place, data)
        self._counts[line] += 1


class LogReplay:
    r"""The lines of one connection, as they are added to those that are known.

    >>> log = MergedLog()
    >>> for texts in ("abb", "bbc"):
    ...     replay = LogReplay(log)
    ...     for text in texts:
    ...         replay.add(LogLine("", text))
    >>> log.read(0)
    b'a\nb\nb\nc\n'
    """

    def __init__(self, log: MergedLog) -> None:
        self._log, self._seen, self._latest_s = log, Counter[LogLine](), 0.0

    def add(self, line: LogLine) -> None:
        """Add the next line of the connection."""
        at_s = parse_time(line.time)
        at_s = self._latest_s if at_s < self._latest_s - SHUFFLED_S else at_s
        self._latest_s = max(self._latest_s, at_s)
        self._seen[line] += 1
        if self._seen[line] > self._log.count_of(line):
            self._log.insert(at_s, line)
