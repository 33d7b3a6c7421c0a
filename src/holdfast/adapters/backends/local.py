"""This machine: an attempt is a process in a session of its own; its output and its exit code are files."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil

from holdfast.adapters.environment.interpreters import select_interpreter
from holdfast.adapters.environment.marked_processes import find_marked
from holdfast.adapters.storage.locks import is_held
from holdfast.core.backends import LOCAL
from holdfast.core.errors import BackendError
from holdfast.core.event import Liveness
from holdfast.core.json_text import parse_json
from holdfast.core.plan import Attempt, Plan
from holdfast.ports import PollResult

GUARD = Path(__file__).parents[2] / "payload" / "guard.py"


class LocalBackend:
    """Runs attempts as child processes that outlive the supervisor.

    Args:
        interpreter: Words that run a Python file in an environment that has the packages of the script.
        environment: Variables that the attempt inherits, including the values of secrets.

    Covered: several processes under torchrun (the attempt starts them itself), reattaching, at-most-once
    starts, process ids that other processes have got since, supervisors that were killed.
    Not covered: several machines; a guard killed by hand, whose attempt then ends with an unknown exit code.
    """

    capabilities = LOCAL

    def __init__(self, interpreter: Sequence[str], environment: Mapping[str, str]) -> None:
        self._interpreter, self._environment = interpreter, environment
        self._tails: dict[str, _Reports] = {}

    @classmethod
    def open(cls, plan: Plan | None, environment: Mapping[str, str]) -> Self:
        """Return the backend for a plan, with an interpreter for its script; without a plan, one that follows running attempts.

        Raises:
            UsageError: Nothing on this machine can run the script.
        """
        if plan is None:
            return cls((), environment)
        script = str(Path(plan.cwd, plan.script_name))
        return cls(select_interpreter(script, plan.script, plan.options), environment)

    def submit(self, attempt: Attempt) -> str:
        """Start the attempt under a guard and return its folder, which is its id."""
        folder, script = Path(attempt.folder), Path(attempt.folder) / "attempt.py"
        if not (folder / "guard.json").exists():
            command = [*self._interpreter, str(script), *attempt.plan.arguments]
            self._start_guard(attempt, command)
        return attempt.folder

    def poll(self, attempt_id: str, *, skip: int) -> PollResult:
        """Return what the files of the guard and of the training process say about the attempt."""
        folder = Path(attempt_id)
        try:
            # In this order: a process that is gone has already written its exit code, if ever, and before that, all its reports.
            alive, ended = is_held(folder / "guard.json"), (folder / "exit.json").exists()
            exit_code = _exit_code(folder) if ended else None
            reports = self._tails.setdefault(attempt_id, _Reports(folder / "events.jsonl")).after(skip)
        except OSError as error:
            return PollResult(answer=Liveness.UNKNOWN, because=f"{error.filename}: {error.strerror}")
        if not ended and not (folder / "guard.json").exists() and (orphans := _marked(attempt_id)):
            because = (
                f"its folder was deleted, and {len(orphans)} of its processes are alive: `holdfast stop` ends them"
            )
            return PollResult(answer=Liveness.UNKNOWN, because=because)
        if ended or not alive:
            return PollResult(answer=Liveness.ENDED, exit_code=exit_code, reports=reports)
        return PollResult(answer=Liveness.ALIVE, reports=reports)

    def stop(self, attempt_id: str) -> None:
        """Send SIGTERM to the training processes; not to torchrun, which would kill them before they have saved."""
        for process in _ranks(attempt_id) or _descendants(attempt_id) or _marked(attempt_id):
            with suppress(psutil.NoSuchProcess):
                process.terminate()

    def kill(self, attempt_id: str) -> None:
        """Send SIGKILL to every process of the attempt except the guard, which writes the exit code."""
        for process in {*_descendants(attempt_id), *_ranks(attempt_id)} or _marked(attempt_id):
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def request_stacks(self, attempt_id: str) -> None:
        """Send SIGUSR1, on which the runtime writes the stack of each process' main thread to `stacks.txt`."""
        for process in _ranks(attempt_id):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGUSR1)

    def _start_guard(self, attempt: Attempt, command: Sequence[str]) -> None:
        words = [sys.executable, "-I", "-S", str(GUARD), attempt.folder, *command]
        try:
            subprocess.run(  # noqa: S603 - the words are a list, no shell reads them
                words,
                cwd=attempt.plan.cwd,
                env={**self._environment, **variables_of(attempt)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C at the terminal is for the supervisor alone
                check=True,
            )
        except OSError as error:
            raise BackendError(str(error), where=words[0], fix="check free memory and processes (ulimit -u)") from error
        except subprocess.CalledProcessError as error:
            what = f"the attempt's guard failed: {error.stderr.decode(errors='replace').strip().splitlines()[-1:]}"
            raise BackendError(what, where=attempt.folder, fix="check that the folder can be written") from error


def variables_of(attempt: Attempt) -> dict[str, str]:
    """Return the variables that describe an attempt to its processes; see `payload/runtime.py`."""
    told = {
        "HOLDFAST_ATTEMPT": attempt.folder,
        "HOLDFAST_RESUME": attempt.resume_from or "",
        "HOLDFAST_PROCESSES": str(attempt.plan.processes),
        "PYTHONUNBUFFERED": "1",  # or the last lines before a kill are lost
    }
    return {**told, **attempt.plan.variables}


class _Reports:
    """The training process' events; each call continues where the last one ended."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset, self._count = path, 0, 0

    def after(self, skip: int) -> list[dict[str, Any]]:
        if not self._path.exists():
            return []
        if skip < self._count:
            self._offset, self._count = 0, 0  # earlier reports are wanted again
        with self._path.open("rb") as file:
            file.seek(self._offset)
            whole, _, _ = file.read().rpartition(b"\n")  # a line still being written has no end yet
        lines = whole.split(b"\n") if whole else []
        first, self._count = self._count, self._count + len(lines)
        self._offset += len(whole) + 1 if lines else 0
        return [_parse_report(line) for line in lines[max(0, skip - first) :]]


def _exit_code(folder: Path) -> int | None:
    """Return the exit code that the guard wrote; None if the file holds something else."""
    with suppress(ValueError, TypeError, KeyError):
        code = parse_json((folder / "exit.json").read_text())["exit_code"]
        return code if isinstance(code, int) else None
    return None


def _parse_report(line: bytes) -> dict[str, Any]:
    with suppress(ValueError):
        if isinstance(said := parse_json(line), dict):
            return said
    return {"event": "unreadable", "text": line.decode(errors="replace")}


def _ranks(attempt_id: str) -> list[psutil.Process]:
    """Return the training processes that wrote down their ids, unless another process has the id by now."""
    return [process for process in _named(Path(attempt_id)) if _belongs(process, attempt_id)]


def _named(folder: Path) -> Iterator[psutil.Process]:
    for path in sorted((folder / "pids").glob("rank-*")):
        with suppress(psutil.NoSuchProcess, ValueError, OSError):
            yield psutil.Process(int(path.read_text()))


def _belongs(process: psutil.Process, attempt_id: str) -> bool:
    try:
        return process.environ().get("HOLDFAST_ATTEMPT") == attempt_id
    except psutil.Error:
        return False


def _marked(attempt_id: str) -> list[psutil.Process]:
    """Return the attempt's processes by their environment, if its folder was deleted and no file names them."""
    return [] if Path(attempt_id, "guard.json").exists() else find_marked("HOLDFAST_ATTEMPT", attempt_id)


def _descendants(attempt_id: str) -> list[psutil.Process]:
    """Return all processes that the guard started and that still run."""
    try:
        guard = psutil.Process(parse_json((Path(attempt_id) / "guard.json").read_text())["pid"])
    except (psutil.NoSuchProcess, OSError, ValueError):
        return []
    return guard.children(recursive=True) if _belongs(guard, attempt_id) else []
