"""A place that pretends to be far away: attempts run in processes of this machine, but share nothing with it.

It serves tests of what holdfast does when a service misbehaves, and demonstrations that cost nothing. Each attempt has a machine
with an empty disk, which is lost with it, and a store that outlives it, where the run's folder is. Log, events and files have to
be retrieved. What goes wrong is given as `Faults`.
"""

import hashlib
import json
import math
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, Self, TypeVar

import msgspec
import psutil

from holdfast.adapters.environment.guarded import MARK, GuardedProcess
from holdfast.adapters.environment.marked_processes import find_marked
from holdfast.adapters.storage.private_files import partial_of, write_private
from holdfast.core.errors import UnreachableError, UsageError
from holdfast.core.run.backends import FAKE
from holdfast.core.run.event import Liveness
from holdfast.core.run.plan import Attempt, Plan
from holdfast.ports import LogPart, NamedBackend, PollResult, RemoteFile, Retrieval

Answer = TypeVar("Answer")
FAULTS_KEY: Final = "where.options.faults"
OUTAGE_CALLS: Final = 3
LONGEST_REPEAT: Final = 300
"""Bytes of the log that a connection repeats at most."""
SHARES: Final = (
    "unreachable",
    "answer_lost",
    "unknown",
    "stale",
    "log_cut",
    "log_repeated",
    "log_holes",
    "log_swapped",
)
QUEUED: Final = "queued for hardware"
BOOT: Final = """
import os, sys, time
os.dup2(1, 2)
time.sleep(float(sys.argv[1]))
open(sys.argv[2], "w").close()
os.execv(sys.executable, [sys.executable, *sys.argv[3:]])
"""
"""Waits for hardware, then becomes the attempt, whose two streams are one log."""
PASSED_ON: Final = ("PATH", "LANG", "LD_LIBRARY_PATH", "OMP_NUM_THREADS")
"""Variables of this machine that the machine of an attempt has too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """What goes wrong. Shares are between 0 and 1; the same seed makes the same mistakes in the same calls.

    Attributes:
        seed: Decides which calls go wrong.
        unreachable: Share of calls that do not arrive.
        answer_lost: Share of calls that are carried out, and whose answer does not arrive.
        dies_at_call: The call, counted from 1, that is carried out without an answer, followed by an outage; 0 for none.
        unknown: Share of polls that are answered with *unknown*.
        stale: Share of polls that are answered as the one before.
        log_cut: Share of readings of the log that end early.
        log_repeated: Share of readings that begin too early.
        log_holes: Share of readings in which bytes are missing in the middle.
        log_swapped: Share of readings with two pieces in the wrong order.
        queue_s: Seconds that an attempt waits for hardware.
        vanishes_at_poll: The poll, counted from 1, before which the machine of the attempt is lost; 0 for none.
    """

    seed: int = 0
    unreachable: float = 0.0
    answer_lost: float = 0.0
    dies_at_call: int = 0
    unknown: float = 0.0
    stale: float = 0.0
    log_cut: float = 0.0
    log_repeated: float = 0.0
    log_holes: float = 0.0
    log_swapped: float = 0.0
    queue_s: float = 0.0
    vanishes_at_poll: int = 0

    def __post_init__(self) -> None:
        """Refuse values that mean nothing.

        Raises:
            UsageError: A share is not between 0 and 1, or a number of seconds or calls is negative.
        """
        for name in SHARES:
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(
                    f"{name} is {getattr(self, name)}", where=FAULTS_KEY, fix="give a share between 0 and 1"
                )
        for name in ("queue_s", "dies_at_call", "vanishes_at_poll"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UsageError(f"{name} is {getattr(self, name)}", where=FAULTS_KEY, fix="give 0 or more")


class FakeBackend(NamedBackend):
    """Runs attempts on machines that share nothing with this one.

    Args:
        root: Where the machines and stores are; every process that uses the same folder finds the same attempts.
        environment: Where the values of secrets come from.
        faults: What goes wrong.

    Covered: at-most-once starts by `attempt.id`, queueing, a lost machine, a store that outlives it, the job's own files.
    Not covered: several machines; packages that this Python lacks.
    """

    capabilities = FAKE

    def __init__(self, root: Path, environment: Mapping[str, str], faults: Faults = Faults()) -> None:
        self._root, self._environment, self._faults = root, environment, faults
        self._line = _Line(faults)
        self._polls = 0
        self._last_looks: dict[str, PollResult] = {}

    @property
    def retrieval(self) -> Retrieval:
        """This backend itself."""
        return self

    @classmethod
    def open(cls, plan: Plan | None, environment: Mapping[str, str]) -> Self:
        """Return the backend with the faults that a plan's options name; its folder is in the folder of temporary files.

        Raises:
            UsageError: There is no such fault.
        """
        faults = _parse_faults(plan.options.get("faults", {}) if plan else {})
        user = Path(tempfile.gettempdir()) / f"holdfast-fake-{os.getuid()}"
        return cls(Path(environment.get("HOLDFAST_FAKE") or user), environment, faults)

    def submit(self, attempt: Attempt) -> str:
        """Start the attempt on a machine of its own, unless it was started before."""
        return self._line.call(lambda: self._start(attempt))

    def poll(self, attempt_id: str) -> PollResult:
        """Return what the service says of the attempt, whether it is right or not."""
        self._polls += 1
        try:
            if self._polls == self._faults.vanishes_at_poll:
                self.lose_machine(attempt_id)
            look = self._line.call(lambda: self._look(attempt_id))
        except UnreachableError as error:
            return PollResult(answer=Liveness.UNKNOWN, because=error.what)
        except OSError as error:
            return PollResult(answer=Liveness.UNKNOWN, because=_describe(error))
        if self._line.draws(self._faults.unknown):
            return PollResult(answer=Liveness.UNKNOWN, because="internal server error")
        if attempt_id in self._last_looks and self._line.draws(self._faults.stale):
            return self._last_looks[attempt_id]
        self._last_looks[attempt_id] = look
        return look

    def stop(self, attempt_id: str) -> None:
        """Send SIGTERM once, however often it is requested."""

        def send() -> None:
            stopped = self._folder(attempt_id) / "stopped"
            if stopped.parent.is_dir() and not stopped.exists():
                stopped.touch()
                self._process(attempt_id).stop()

        self._line.call(send)

    def kill(self, attempt_id: str) -> None:
        """Send SIGKILL."""
        self._line.call(self._process(attempt_id).kill)

    def request_stacks(self, attempt_id: str) -> None:
        """Send SIGUSR1 to the training processes."""
        self._line.call(self._process(attempt_id).request_stacks)

    def read_log(self, attempt_id: str, offset: int) -> LogPart:
        """Return part of the log, with whatever the connection did to it."""

        def read() -> LogPart:
            begins = max(0, offset - self._line.repeated())
            with suppress(FileNotFoundError), (self._folder(attempt_id) / "stdout.log").open("rb") as log:
                log.seek(begins)
                return LogPart(begins, self._line.damage(log.read()))
            return LogPart(offset, b"")

        return self._line.call(read)

    def list_files(self, attempt_id: str) -> Mapping[str, RemoteFile]:
        """Return the files of the run's folder in the store."""

        def listed() -> Mapping[str, RemoteFile]:
            run, found = self._store(attempt_id), dict[str, RemoteFile]()
            for path in run.rglob("*"):
                with suppress(FileNotFoundError):  # the attempt is writing
                    if path.is_file():
                        stat = path.stat()
                        found[path.relative_to(run).as_posix()] = RemoteFile(stat.st_size, str(stat.st_mtime_ns))
            return found

        return self._line.call(listed)

    def fetch_file(self, attempt_id: str, path: str, to: str) -> None:
        """Copy a file from the store."""

        def fetch() -> None:
            _copy_whole(self._store(attempt_id) / path, Path(to))

        self._line.call(fetch)

    def lose_machine(self, attempt_id: str) -> None:
        """Take the machine of an attempt away, with its disk and without a last word."""
        for process in find_marked(MARK, self._process(attempt_id).attempt):
            with suppress(psutil.Error):
                process.kill()
        shutil.rmtree(self._folder(attempt_id) / "machine", ignore_errors=True)

    def _start(self, attempt: Attempt) -> str:
        attempt_id = f"fake-{_digest(attempt.id)}"
        folder = self._folder(attempt_id)
        store, machine = self._root / "stores" / _digest(attempt.run_id), folder / "machine"
        for needed in (store, machine):
            needed.mkdir(parents=True, exist_ok=True, mode=0o700)
        there = attempt.variables(str(store)) | self._send_files(attempt)
        write_private(folder / "store", str(store))
        write_private(folder / "attempt", there["HOLDFAST_ATTEMPT"])
        program = machine / "attempt.py"
        _copy_whole(Path(attempt.folder, "attempt.py"), program)
        secrets = {name: self._environment[name] for name in attempt.plan.secrets if name in self._environment}
        base = {name: self._environment[name] for name in PASSED_ON if name in self._environment}
        command = [sys.executable, "-c", BOOT, str(self._faults.queue_s), str(folder / "started"), str(program)]
        environment = {**base, "HOME": str(machine), **secrets, **there}
        self._process(attempt_id).start([*command, *attempt.plan.arguments], str(machine), environment)
        return attempt_id

    def _send_files(self, attempt: Attempt) -> dict[str, str]:
        """Copy the job's own files to where they outlive the machine; return the variable that leads its runtime to them."""
        plan, files = attempt.plan, self._root / "sent" / _digest(attempt.run_id) / "files"
        for name in plan.files:
            (files / name).parent.mkdir(parents=True, exist_ok=True)
            _copy_whole(Path(plan.cwd, name), files / name)
        if plan.files:
            write_private(files.parent / "files.json", json.dumps(plan.files))
        return {"HOLDFAST_FILES": str(files)} if plan.files else {}

    def _look(self, attempt_id: str) -> PollResult:
        process, folder = self._process(attempt_id), self._folder(attempt_id)
        alive = process.is_alive
        if not process.has_started:
            return PollResult(answer=Liveness.UNKNOWN, because=f"there is no attempt {attempt_id}")
        if process.has_exit_code or not alive:
            return PollResult(answer=Liveness.ENDED, exit_code=process.exit_code)
        waiting = not (folder / "started").exists()
        return PollResult(answer=Liveness.ALIVE, phase=QUEUED if waiting else "", waiting=waiting)

    def _folder(self, attempt_id: str) -> Path:
        return self._root / attempt_id

    def _store(self, attempt_id: str) -> Path:
        return Path((self._folder(attempt_id) / "store").read_text())

    def _process(self, attempt_id: str) -> GuardedProcess:
        folder = self._folder(attempt_id)
        known = folder / "attempt"
        return GuardedProcess(folder, known.read_text() if known.exists() else "")


class _Line:
    """The connection to the fake service."""

    def __init__(self, faults: Faults) -> None:
        self._faults, self._dice, self._calls = faults, random.Random(faults.seed), 0  # noqa: S311 - no secret

    def draws(self, share: float) -> bool:
        """Whether this time something goes wrong that goes wrong this often."""
        return self._dice.random() < share

    def call(self, do: Callable[[], Answer]) -> Answer:
        """Carry out a call, if it arrives, and return its answer, if that arrives."""
        self._calls += 1
        since_death = self._calls - (self._faults.dies_at_call or sys.maxsize)
        if 0 < since_death <= OUTAGE_CALLS or self.draws(self._faults.unreachable):
            raise _unreachable("no route to the service")
        try:
            answer = do()
        except OSError as error:
            raise _unreachable(_describe(error)) from None
        if since_death == 0 or self.draws(self._faults.answer_lost):
            raise _unreachable("the service did not answer in time")
        return answer

    def repeated(self) -> int:
        """Return how many bytes too early a reading of the log begins."""
        return self._dice.randint(1, LONGEST_REPEAT) if self.draws(self._faults.log_repeated) else 0

    def damage(self, data: bytes) -> bytes:
        """Return part of the log as it arrives."""
        if self.draws(self._faults.log_holes):
            first, last = sorted(self._dice.randrange(len(data) + 1) for _ in range(2))
            data = data[:first] + data[last:]
        if self.draws(self._faults.log_swapped):
            first, last = sorted(self._dice.randrange(len(data) + 1) for _ in range(2))
            data = data[first:last] + data[:first] + data[last:]
        return data[: self._dice.randrange(len(data) + 1)] if self.draws(self._faults.log_cut) else data


def _parse_faults(given: object) -> Faults:
    """Return the faults that a job file names.

    Raises:
        UsageError: There is no such fault, or its value is wrong.
    """
    names = [each.name for each in fields(Faults)]
    unknown = sorted(str(name) for name in given if name not in names) if isinstance(given, Mapping) else []
    fix = f"choose among {', '.join(names)}"
    if unknown:
        raise UsageError(f"there is no fault {unknown[0]!r}", where=FAULTS_KEY, fix=fix)
    try:
        return msgspec.convert(given, Faults)
    except msgspec.ValidationError as error:
        raise UsageError(str(error), where=FAULTS_KEY, fix=fix) from None


def _copy_whole(source: Path, target: Path) -> None:
    """Copy a file; a process that is reading the one before reads all of it. An attempt may be submitted twice at once."""
    partial = partial_of(target)
    shutil.copyfile(source, partial)
    partial.replace(target)


def _digest(text: str) -> str:
    """Return a name for a folder; the text may have any characters."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def _describe(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}"


def _unreachable(what: str) -> UnreachableError:
    return UnreachableError(what, where=FAKE.name, fix="it is tried again")
