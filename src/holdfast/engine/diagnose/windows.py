"""A stream of bytes as windows: a body, and what stands before and behind it, so that no line is cut where it matters.

Memory is bounded whatever the lines are: a line of 100 MB is some windows without a line feed.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from holdfast.engine.diagnose.cleaning import ESCAPES
from holdfast.engine.diagnose.unpacking import feeds, unpacked

BODY: Final = 8 * 2**20
"""Bytes that are searched at a time."""
MARGIN: Final = 256 * 2**10
"""Bytes before and behind a body that its lines may reach into: the longest traceback worth reading."""
UNFINISHED: Final = 64
"""Bytes at the end of a chunk in which an escape sequence may have been cut."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a log.

    Attributes:
        data: Its bytes, unpacked and without escape sequences: what stands before the body, the body, what stands behind it.
        start: Where the body begins in `data`.
        end: Where it ends.
        number: Of the line in which the body begins, counted from 1.
        first: Whether nothing stands before `data` in the log.
        last: Whether nothing stands behind it.
    """

    data: bytes
    start: int
    end: int
    number: int
    first: bool
    last: bool


def windows(chunks: Iterable[bytes]) -> Iterator[Window]:
    """Yield a log's windows, in order; their bodies put together are the log. None of an empty one.

    Args:
        chunks: Its bytes, in pieces of any size.
    """
    before, number, first = b"", 1, True
    for held, last in _bodies(unpacked(_without_escapes(chunks))):
        end = len(held) if last else len(held) - MARGIN
        data = before + held
        yield Window(data, len(before), len(before) + end, number, first and not before, last)
        number += feeds(held, 0, end)
        before, first = data[: len(before) + end][-MARGIN:], first and not before and end < MARGIN


def _bodies(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield bodies with the margin behind each: at least a body long, but for the last one."""
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size >= BODY + MARGIN:
            whole = b"".join(held)
            yield whole, False
            held, size = [whole[-MARGIN:]], MARGIN
    if size:
        yield b"".join(held), True


def _without_escapes(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield chunks without colours and movements of the cursor, also where one was cut between two chunks."""
    held = b""
    for chunk in chunks:
        text = held + chunk if held else chunk
        held = b""
        if b"\x1b" in text:
            cut = text.rfind(b"\x1b", max(0, len(text) - UNFINISHED))
            if cut >= 0 and not ESCAPES.match(text, cut):
                text, held = text[:cut], text[cut:]
            text = ESCAPES.sub(b"", text)
        yield text
    if held:
        yield re.sub(rb"\x1b\[?[0-9;]*", b"", held)
