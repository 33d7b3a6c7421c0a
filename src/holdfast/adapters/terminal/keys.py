"""The keys that a person presses at a terminal, heard without waiting for them.

Covered: terminals of POSIX. Not covered: Windows.
"""

import os
import select
import termios
import tty
from contextlib import suppress
from typing import Any, Final

MOST: Final = 64
"""Keys that are read at once."""


class Keys:
    """The keys of a terminal, from `open` to `close`: without Enter and without an echo, while Ctrl-C stays a signal.

    Args:
        file: The terminal's descriptor.
    """

    def __init__(self, file: int) -> None:
        self._file = file
        self._before: list[Any] | None = None

    def open(self) -> None:
        """Begin to listen."""
        with suppress(termios.error):
            self._before = termios.tcgetattr(self._file)
            tty.setcbreak(self._file, termios.TCSADRAIN)

    def take(self) -> str:
        """Return the keys pressed since the last call; empty if none was."""
        if not select.select([self._file], [], [], 0)[0]:
            return ""
        return os.read(self._file, MOST).decode(errors="ignore")

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._before is not None:
            with suppress(termios.error):
                termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)
            self._before = None
