"""A supervisor in the background: a `holdfast resume` in a session of its own, which outlives this process."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.storage.private_files import open_private
from holdfast.adapters.storage.run_folder import is_supervised
from holdfast.app.run.runs import Run
from holdfast.core.errors import BackendError
from holdfast.core.text.json_text import parse_json

POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class EndedCommand:
    """How a command in the background ended.

    Attributes:
        exit_code: Its exit code.
        error: The first error in its answer; empty if that has none, and None if there is no answer.
    """

    exit_code: int
    error: str | None

    @property
    def because(self) -> str:
        """Why it ended."""
        return self.error or f"exit code {self.exit_code}"


def send_to_background(run: Run) -> None:
    """Start a supervisor in the background, and return once it supervises the run.

    Raises:
        BackendError: It ended before that.
    """
    before, log = run.state(), run.folder / "supervisor.log"
    words = ("resume", run.name, "--runs", str(run.folder.parent))
    ended = start_in_background(words, run.secrets, log, lambda: _is_under_way(run))
    after = run.state()
    if ended is not None and (after == before or not after.stage.ended):
        what = f"the supervisor in the background ended before it supervised {run.name}: {ended.because}"
        raise BackendError(what, where=str(log), fix=f"correct this, then `holdfast resume {run.name}`")


def start_in_background(
    words: Sequence[str], variables: Mapping[str, str], log: Path, is_under_way: Callable[[], bool]
) -> EndedCommand | None:
    """Start a command of holdfast in a session of its own; return how it has ended, None once it is under way.

    Args:
        words: The command.
        variables: Variables that it gets beside those of this process.
        log: What it writes to standard error.
        is_under_way: Whether it does what it was started for.

    Raises:
        BackendError: It cannot be started.
    """
    with TemporaryFile() as answer:  # it may write into it for longer than this process lives
        started = _start(words, variables, log, answer)
        while (code := started.poll()) is None and not is_under_way():
            SystemClock().sleep(POLL_S)
        return None if code is None else EndedCommand(code, _first_error(answer))


def _first_error(answer: BinaryIO) -> str | None:
    """Return the first error in the answer of a command; empty if it has none, and None if it was killed or crashed."""
    answer.seek(0)
    try:
        errors = parse_json(answer.read()).get("errors")
        return str(errors[0]["what"]) if errors else ""
    except (ValueError, TypeError, LookupError, AttributeError):
        return None


def _is_under_way(run: Run) -> bool:
    """True if a process supervises the run, and its attempt has started."""
    state = run.state()
    is_open = state.current is not None and bool(state.current.id) and not state.stage.ended
    return is_open and is_supervised(run.folder)


def _start(words: Sequence[str], variables: Mapping[str, str], log: Path, answer: BinaryIO) -> subprocess.Popen[bytes]:
    command = (sys.executable, "-P", "-m", "holdfast", *words, "--quiet", "--format", "json")
    environment = {**os.environ, **variables}
    try:
        with open_private(log, "ab") as file:
            return subprocess.Popen(  # noqa: S603 - our own command
                command, env=environment, stdin=subprocess.DEVNULL, stdout=answer, stderr=file, start_new_session=True
            )
    except OSError as error:
        what = f"the supervisor in the background cannot be started: {error.strerror}"
        raise BackendError(what, where=str(log), fix="free some disk space, or check permissions") from error
