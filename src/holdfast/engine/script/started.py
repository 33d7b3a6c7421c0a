"""The programs that a script starts."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document

RUNNING: Final = frozenset({"subprocess.run", "subprocess.call", "subprocess.Popen", "os.system"})
CHECKING: Final = frozenset({"subprocess.check_call", "subprocess.check_output"})
ALWAYS: Final = frozenset({"python", "python3", "uv", "pip"})
"""Programs of the environment that the script itself runs in."""


@dataclass(frozen=True, slots=True)
class ProgramStart:
    """One program that is started.

    Attributes:
        call: What starts it.
        words: Its command line, as far as it is known.
    """

    call: Call
    words: tuple[str, ...]

    @property
    def program(self) -> str:
        """The program; empty if it is not known."""
        return self.words[0] if self.words else ""

    @property
    def is_always_there(self) -> bool:
        """Whether it surely is there, or is there to see to it."""
        return self.program in ALWAYS or "install" in self.words

    @property
    def checked(self) -> bool:
        """Whether the script ends where the program fails."""
        return self.call.path in CHECKING or self.call.arguments.get("check") is True


def starts(job: Document) -> Iterator[ProgramStart]:
    """Yield the programs that a script starts by `subprocess` or `os.system`, in order."""
    for call in job.calls:
        if call.path in RUNNING | CHECKING and not call.guard.because:
            yield ProgramStart(call, _words(call))


def _words(call: Call) -> tuple[str, ...]:
    """Return the words of a command; behind a program that is not known, nothing is."""
    given: Any = call.arguments.get("args", next(iter(call.positional), None))
    if isinstance(given, list | tuple):
        known = tuple(each for each in given if isinstance(each, str))
        return known if given and isinstance(given[0], str) else ()
    try:
        return tuple(shlex.split(given)) if isinstance(given, str) else ()
    except ValueError:
        return ()
