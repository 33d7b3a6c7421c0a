"""Options that a shell runs as a command of their own, because the line before them does not go on."""

import re
from collections.abc import Sequence
from typing import Final

from holdfast.adapters.readers.command_line.launchers import Launch
from holdfast.adapters.readers.command_line.words import Word
from holdfast.core.text.places import LineIndex

SEVERED: Final = "launch.severed"
"""Options that a shell runs as commands."""
NEXT_LINE: Final = re.compile(
    r"[ \t]*(?:\\\r?\n[ \t]*(?=\#))?(?:\#[^\n]*)?\r?\n(?:\s*\#[^\n]*\n)*[ \t]*(?P<option>--[A-Za-z][\w-]*)(?=[\s=\\]|$)"
)
"""After a command: the end of its line, perhaps comments, and an option. A pattern of a `case` ends in `)` or `|`."""


def note_severed(launch: Launch, words: Sequence[Word], text: str, path: str) -> None:
    """Note an option that stands at the beginning of the line after a command."""
    place = words[-1].place
    if place.path != path or place.end_line is None or place.end_column is None:
        return
    lines = LineIndex(text)
    found = NEXT_LINE.match(text, lines.offset((place.end_line, place.end_column)))
    if found:
        launch.add(SEVERED, found["option"], lines.place(path, *found.span("option")))
