"""The question that Ctrl-C asks, below the display of a running run."""

from collections.abc import Callable
from typing import Final, Protocol

from holdfast.adapters.terminal.orders import Choice

QUESTION: Final = "[s]top after saving, [d]etach and leave it running, or [c]ontinue? Ctrl-C again detaches."
LEAVING: Final = "Detaching. Ctrl-C once more ends the training at once, without saving."
CHOICES: Final[dict[str, Choice]] = {"s": "stop", "d": "detach", "c": "continue", "\n": "continue", "\r": "continue"}


class Keyboard(Protocol):
    """The keys of a terminal; `adapters.terminal.keys.Keys` has this shape."""

    def open(self) -> None:
        """Begin to listen."""
        ...

    def take(self) -> str:
        """Return the keys pressed since the last call."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was."""
        ...


class CtrlCQuestion:
    """Asks what Ctrl-C shall mean; one key is the answer.

    Args:
        keys: The keyboard.
        show: Shows a line below the run; an empty one removes it.
    """

    def __init__(self, keys: Keyboard, show: Callable[[str], None]) -> None:
        self._keys, self._show = keys, show

    def open(self) -> None:
        """Ask."""
        self._keys.open()
        self._show(QUESTION)

    def leave(self) -> None:
        """Say that the supervisor is about to detach."""
        self._show(LEAVING)

    def answer(self) -> Choice | None:
        """Return the choice; None if none was made yet."""
        return next((CHOICES[key] for key in self._keys.take().lower() if key in CHOICES), None)

    def close(self) -> None:
        """Remove the question."""
        self._keys.close()
        self._show("")
