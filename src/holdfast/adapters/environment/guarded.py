"""A process of this machine under its guard (`payload/guard.py`): started at most once, followed and ended by any process."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.environment.marked_processes import find_marked
from holdfast.adapters.environment.outside_stacks import outside_stack
from holdfast.adapters.storage.locks import is_held
from holdfast.core.errors import BackendError
from holdfast.core.text.json_text import parse_json

GUARD = Path(__file__).parents[2] / "payload" / "guard.py"
MARK = "HOLDFAST_ATTEMPT"
"""The variable whose value marks the processes of an attempt."""

LOOKS: Final = 100
LOOK_S: Final = 0.02
"""Seconds between two of so many looks for the stack of a process: it takes milliseconds, whatever the process does."""
SIGNS_OF_LIFE = ("guard.json", "events.jsonl", "stdout.log", "stderr.log")
"""What a process writes from its start to its end."""


@dataclass(frozen=True, slots=True)
class GuardedProcess:
    """The processes of one attempt.

    Attributes:
        folder: Where the guard keeps its claim, the streams and the exit code.
        attempt: What the attempt's processes have as `HOLDFAST_ATTEMPT`; a folder, in which they write their ids.
    """

    folder: Path
    attempt: str

    @property
    def has_started(self) -> bool:
        """Whether it was ever started."""
        return (self.folder / "guard.json").exists()

    @property
    def is_alive(self) -> bool:
        """Whether any of its processes is alive."""
        return is_held(self.folder / "guard.json")

    @property
    def has_exit_code(self) -> bool:
        """Whether the guard recorded how it ended."""
        return (self.folder / "exit.json").exists()

    @property
    def has_ranks(self) -> bool:
        """Whether a training process is alive. Those of a launcher do not hold the lock; if it is killed, they outlive it and the guard."""
        return bool(self._ranks())

    @property
    def exit_code(self) -> int | None:
        """The exit code that the guard wrote; None if it wrote none, or the file holds something else."""
        with suppress(ValueError, TypeError, KeyError, FileNotFoundError):
            code = parse_json((self.folder / "exit.json").read_text())["exit_code"]
            return code if isinstance(code, int) else None
        return None

    @property
    def last_sign_s(self) -> float | None:
        """Unix time of its last sign of life: its end as the guard noted it, else what it wrote last; None if it wrote nothing."""
        with suppress(OSError, ValueError, TypeError, KeyError):
            return float(parse_json((self.folder / "exit.json").read_text())["at"])
        times: list[float] = []
        for name in SIGNS_OF_LIFE:
            with suppress(OSError):
                times.append((self.folder / name).stat().st_mtime)
        return max(times, default=None)

    def start(self, command: Sequence[str], cwd: str, environment: Mapping[str, str]) -> None:
        """Start a command, unless that was done before.

        Raises:
            BackendError: It cannot be started.
        """
        if self.has_started:
            return
        words = [sys.executable, "-I", "-S", str(GUARD), str(self.folder), *command]
        try:
            subprocess.run(  # noqa: S603 - the words are a list, no shell reads them
                words,
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C at the terminal is for the supervisor alone
                check=True,
            )
        except ValueError as error:  # a NUL in a word or a variable, which no program can be given
            fix = "remove it from the arguments, names and variables"
            raise BackendError(f"the attempt cannot be started: {error}", where=str(self.folder), fix=fix) from error
        except OSError as error:
            raise BackendError(str(error), where=words[0], fix="check free memory and processes (ulimit -u)") from error
        except subprocess.CalledProcessError as error:
            last = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            what = f"the attempt's guard failed: {last or error}"
            raise BackendError(what, where=str(self.folder), fix="check that the folder can be written") from error

    def stop(self) -> None:
        """Send SIGTERM to the training processes; not to torchrun, which would kill them before they have saved."""
        self._signal(self._ranks() or self._descendants() or self.orphans(), signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL to every process except the guard, which writes the exit code."""
        self._signal({*self._descendants(), *self._ranks()} or self.orphans(), signal.SIGKILL)

    def request_stacks(self) -> None:
        """Have the stack of each process' main thread written into its file: by the process itself on SIGUSR1, otherwise from outside."""
        ranks = self._ranks_by_number()
        before = {number: self._stacks_bytes(number) for number in ranks}
        self._signal([*ranks.values()], signal.SIGUSR1)
        silent = [*ranks]
        for _ in range(LOOKS):
            silent = [each for each in silent if self._stacks_bytes(each) == before[each]]
            if not silent:
                return
            SystemClock().sleep(LOOK_S)
        with ThreadPoolExecutor(len(silent)) as readers:  # all at once: the supervisor waits
            stacks = readers.map(outside_stack, (ranks[number].pid for number in silent))
            for number, stack in zip(silent, stacks, strict=True):
                with suppress(OSError), self._stacks(number).open("a") as file:
                    file.write(stack)

    def _stacks(self, rank: str) -> Path:
        return Path(self.attempt, "stacks.txt" if rank == "0" else f"stacks-{rank}.txt")

    def _stacks_bytes(self, rank: str) -> int:
        with suppress(OSError):
            return self._stacks(rank).stat().st_size
        return 0

    def orphans(self) -> list[psutil.Process]:
        """Return the processes, found by their environment, if the folder was deleted and no file names them."""
        return [] if self.has_started else find_marked(MARK, self.attempt)

    def _signal(self, processes: Sequence[psutil.Process] | set[psutil.Process], number: signal.Signals) -> None:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def _ranks(self) -> list[psutil.Process]:
        return [*self._ranks_by_number().values()]

    def _ranks_by_number(self) -> dict[str, psutil.Process]:
        """Return the training processes that wrote down their ids, unless another process has the id by now."""
        return {number: process for number, process in self._named() if self._belongs(process)}

    def _named(self) -> Iterator[tuple[str, psutil.Process]]:
        for path in sorted(Path(self.attempt, "pids").glob("rank-*")):
            with suppress(psutil.NoSuchProcess, ValueError, OSError):
                yield path.name.removeprefix("rank-"), psutil.Process(int(path.read_text()))

    def _belongs(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get(MARK) == self.attempt
        except psutil.Error:
            return False

    def _descendants(self) -> list[psutil.Process]:
        """Return all processes that the guard started and that still run."""
        try:
            guard = psutil.Process(parse_json((self.folder / "guard.json").read_text())["pid"])
        except (psutil.NoSuchProcess, OSError, ValueError):
            return []
        return guard.children(recursive=True) if self._belongs(guard) else []
