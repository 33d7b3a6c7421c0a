"""The server of rehearsals: one process in the script's environment, which forks one for each part of the path.

Covered: a script's own environment by `uv`, or this one; limits of time and memory, after which the part and all that it
started are ended and what it had said is kept. Not covered: Windows, which cannot fork.
"""

import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Self
from uuid import uuid4

import psutil

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.environment.marked_processes import end_group
from holdfast.adapters.foreign_files import read_both_ends
from holdfast.adapters.rehearsal.gate import Gate
from holdfast.adapters.storage.checkpoints import verify_checkpoint
from holdfast.core.rehearse.rehearsal import EVENT_KEYS, PartResult
from holdfast.core.run.training_event import CheckpointSaved, parse_training_event
from holdfast.core.text.json_text import parse_json
from holdfast.payload.rehearsal.part_request import PartRequest

MARK: Final = "HOLDFAST_REHEARSAL"
HOOK_EVENTS: Final = "rehearsal.jsonl"
OF_OTHERS: Final = "rehearsal-*.jsonl"
"""The same of the processes but for the first, if several play a part. Only where a fault struck is read."""
STOOD_STILL: Final = "it stands still"
"""Why a part is ended whose fault is that it stalls."""
LINUX: Final = sys.platform == "linux"
LOOK_S: Final = 0.02
WEIGH_S: Final = 0.5
STACKS_S: Final = 0.3
"""Time in which a process that is about to be ended writes its stacks."""
COLLECTIVES_S: Final = 1.6
"""Time in which several processes also write what they did together: they look once a second."""
STALLED_S: Final = 1.0
"""Seconds after which a process that is to stall is taken to have done so."""
END_S: Final = 30.0
"""Time that the kernel gets to end a sandbox: memory is freed page by page."""
PRINTED: Final = ("stdout.log", "stderr.log")
MOST_OUTPUT: Final = 4_000_000
"""Bytes of a part's output that are read, half of them from its beginning and half from its end."""
MOST_EVENTS: Final = 64_000_000
"""Bytes of a part's events that are read. A part has about a hundred kilobytes of them."""
MOST_PRINTED: Final = 2_000_000_000
"""Bytes after which a part is ended: it would fill the disk."""
VARIABLES: Final = {
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONUNBUFFERED": "1",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 33),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 33),
    "THP_MEM_ALLOC_ENABLE": "1",
}
"""One thread: twins are small, and what has threads cannot be forked. Memory is kept for what comes next, in large pages: logits over
a whole vocabulary are hundreds of megabytes, and half of a step would go by while the kernel clears them."""


@dataclass(slots=True)
class _RunningPart:
    """A part that runs."""

    part_request: PartRequest
    pid: int = 0
    began_s: float = 0.0
    ended_s: float = 0.0
    code: int | None = None
    over: str = ""


class NoEnvironmentError(Exception):
    """The script's environment could not be made; the text is what was said of it."""


class RehearsalServer:
    """Plays the parts of rehearsals in one environment.

    Args:
        words: The words that run a Python program there, without the program.
        header: The PEP 723 header that the program needs before its first line, or nothing.
        wanted: `module` or `module:name` that is imported before the first fork.
        folder: A folder of its own.
        variables: Environment variables of the script.
    """

    def __init__(
        self, words: Sequence[str], *, header: str, wanted: Sequence[str], folder: Path, variables: Mapping[str, str]
    ) -> None:
        self._token, self._clock, self._parts = uuid4().hex, SystemClock(), dict[str, _RunningPart]()
        program = Path(str(files("holdfast.payload") / "rehearsal" / "__main__.py"))
        if header:
            starter = folder / "server.py"
            starter.write_text(f"{header}\nimport runpy\nrunpy.run_path({str(program)!r}, run_name='__main__')\n")
            program = starter
        self._errors, self._stack = folder / "server.log", ExitStack()
        self._gate = self._stack.enter_context(Gate(folder, {**os.environ, **variables})).path if LINUX else ""
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(  # noqa: S603 - the words are a list, no shell reads them
                [*words, str(program), *wanted],
                env={**os.environ, **VARIABLES, **variables, MARK: self._token},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        self._selector = selectors.DefaultSelector()
        self._selector.register(_open(self._process.stdout), selectors.EVENT_READ)
        self._rest = b""
        self.ready: Mapping[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.ready and not self.ready["no_sandbox"]:
            self._end_sandbox()
        end_group(self._process.pid, MARK, self._token)
        for part in self._parts.values():
            if not part.pid:  # it was not started yet; group 0 would be our own
                continue
            with suppress(ProcessLookupError):
                os.killpg(part.pid, signal.SIGKILL)
        self._process.wait()
        self._stack.close()
        self._selector.close()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(BrokenPipeError):
                _open(pipe).close()

    def _end_sandbox(self) -> None:
        """End the first process of the sandbox; wait until the kernel has ended all others, and so freed what they held.

        The process outside the sandbox waits for that, and then ends too. Were it killed, nobody could tell when they have ended.
        """
        with suppress(psutil.Error, subprocess.TimeoutExpired):
            for first in psutil.Process(self._process.pid).children():
                first.kill()
            self._process.wait(END_S)

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    @property
    def used(self) -> bool:
        """Whether anything was played in it: its imports are nobody's time then."""
        return bool(self._parts)

    def wait_ready(self, limit_s: float, on_wait: Callable[[], None] = lambda: None) -> Mapping[str, Any]:
        """Wait until the libraries are imported; return what the server said of them.

        Args:
            limit_s: Longest time to wait.
            on_wait: Called again and again meanwhile.

        Raises:
            NoEnvironmentError: It could not be made, or the server did not start.
        """
        until = time.monotonic() + limit_s
        while not self.ready:
            if self._process.poll() is not None or time.monotonic() > until:
                raise NoEnvironmentError(_text(self._errors))
            self._hear()
            on_wait()
        return self.ready

    def play(
        self,
        part_requests: Sequence[PartRequest],
        *,
        limit_s: float,
        limit_bytes: int,
        then: Callable[[PartResult], PartRequest | None] = lambda _: None,
        on_wait: Callable[[], None] = lambda: None,
    ) -> list[PartResult]:
        """Play parts side by side until each has ended; one that goes over a limit is ended.

        Args:
            part_requests: What to play; each has a folder of its own.
            limit_s: Time that each may take.
            limit_bytes: Memory that each may take.
            then: Is called with the result of each part as it ends; what it returns is played as well.
            on_wait: Called again and again meanwhile.

        Returns:
            The results, in the order in which the parts were begun.
        """
        begun, left = list(map(self._begin, part_requests)), dict[str, PartResult]()
        weighing = _every(WEIGH_S)
        while running := [each for each in begun if each.part_request.folder not in left]:
            self._hear()
            on_wait()
            self._watch(running, limit_s, limit_bytes, weigh=next(weighing))
            for part in [each for each in running if each.ended_s]:
                result = left[part.part_request.folder] = read_played(part)
                begun += self._follow(then(result))
        return [left[each.part_request.folder] for each in begun]

    def _watch(self, running: Sequence[_RunningPart], limit_s: float, limit_bytes: int, *, weigh: bool) -> None:
        """End parts that are over a limit, and note it if the server itself has ended."""
        for part in running:
            if part.pid and not part.over and (over := _over(part, limit_s, limit_bytes, weigh=weigh)):
                part.over = over
                self._end(part)
            if not self.alive:
                part.over, part.ended_s = "the environment's server has ended", time.monotonic()

    def _follow(self, part_request: PartRequest | None) -> list[_RunningPart]:
        """Begin the part that follows another, if there is one and the server lives."""
        return [self._begin(part_request)] if part_request and self.alive else []

    def _begin(self, part_request: PartRequest) -> _RunningPart:
        """Have the server play a part."""
        Path(part_request.folder).mkdir(parents=True, exist_ok=True)
        part_request = replace(part_request, gate=self._gate)
        part = self._parts[part_request.folder] = _RunningPart(part_request)
        _open(self._process.stdin).write(part_request.written().encode() + b"\n")
        _open(self._process.stdin).flush()
        return part

    def _hear(self) -> None:
        """Take what the server said, and wait for it shortly where it said nothing."""
        if not self._selector.select(LOOK_S):
            return
        read = os.read(_open(self._process.stdout).fileno(), 1 << 16)
        if not read:
            self._clock.sleep(LOOK_S)
        *lines, self._rest = (self._rest + read).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if message["event"] == "ready":
                self.ready = message
                continue
            part = self._parts[message["folder"]]
            if message["event"] == "started":
                part.pid = outer_pid(message["pid"], self._process.pid, sandboxed=not self.ready["no_sandbox"])
                part.began_s = time.monotonic()
            else:
                part.code, part.ended_s = message["code"], time.monotonic()

    def _end(self, part: _RunningPart) -> None:
        """Take a part's stacks, and end it with all that it started."""
        with suppress(ProcessLookupError):
            if Path(
                part.part_request.folder, "attempt", "pids", "rank-0"
            ).exists():  # before that the signal would end it
                for pid in _trainings(part):
                    os.kill(pid, signal.SIGUSR1)
                self._clock.sleep(STACKS_S if part.part_request.processes == 1 else COLLECTIVES_S)
            os.killpg(part.pid, signal.SIGKILL)


def _trainings(part: _RunningPart) -> list[int]:
    """Return the processes of a part that train: those that its launcher has started, if it has one."""
    if part.part_request.processes == 1:
        return [part.pid]
    with suppress(psutil.Error):
        return [each.pid for each in psutil.Process(part.pid).children()]
    return []


def _every(interval_s: float) -> Iterator[bool]:
    """Yield True once an interval has passed since it began, or since the last True; False before that."""
    last_s = time.monotonic()
    while True:
        is_due = time.monotonic() - last_s > interval_s
        last_s = time.monotonic() if is_due else last_s
        yield is_due


def outer_pid(pid: int, server: int, *, sandboxed: bool) -> int:
    """Return the id that a process of a server has outside the server's sandbox; 0 if it has ended."""
    if not sandboxed:
        return pid
    with suppress(psutil.Error):
        for each in psutil.Process(server).children(recursive=True):
            with suppress(OSError):  # one that has ended meanwhile
                status = Path(f"/proc/{each.pid}/status").read_text(encoding="utf-8", errors="replace")
                ids = re.search(r"^NSpid:\s*(\d+)\s+(\d+)$", status, re.MULTILINE)
                if ids and ids[2] == str(pid):
                    return int(ids[1])
    return 0


def _over(part: _RunningPart, limit_s: float, limit_bytes: int, *, weigh: bool) -> str:
    """Return which limit a part is over, in words; empty if it is over none."""
    if time.monotonic() - part.began_s > limit_s:
        return f"it takes longer than {limit_s:g} seconds"
    if weigh and _printed(part) > MOST_PRINTED:
        return f"it prints more than {MOST_PRINTED / 1e9:g} GB"
    if weigh and stands_still(part.part_request):
        return STOOD_STILL
    if weigh:
        with suppress(psutil.Error):
            if sum(psutil.Process(pid).memory_info().rss for pid in _trainings(part)) > limit_bytes:
                return f"it takes more than {limit_bytes / 1e9:.1f} GB of memory"
    return ""


def _printed(part: _RunningPart) -> int:
    """Return how many bytes a part has printed so far."""
    paths = [Path(part.part_request.folder, name) for name in PRINTED]
    return sum(path.stat().st_size for path in paths if path.is_file())


def stands_still(part_request: PartRequest) -> bool:
    """True if the fault of a part that is to stall has struck."""
    events = Path(part_request.folder, HOOK_EVENTS)
    struck = part_request.fault == "stall" and (
        '"about": "fault"' in _ends(events, MOST_EVENTS) or any(_faults_of_others(events.parent))
    )
    return struck and time.time() - events.stat().st_mtime > STALLED_S


def read_played(part: _RunningPart) -> PartResult:
    """Return the result that a part left in its folder."""
    folder = Path(part.part_request.folder)
    events = [parse_training_event(each) for each in _lines(folder / "attempt" / "events.jsonl")]
    saved = [event.path for event in events if isinstance(event, CheckpointSaved) and event.path]
    return PartResult(
        part=part.part_request.part,
        code=None if part.over else part.code,
        over=part.over,
        hook_events=(*filter(_is_event, _lines(folder / HOOK_EVENTS)), *_faults_of_others(folder)),
        events=tuple(events),
        logs={name: _ends(folder / name, MOST_OUTPUT) for name in PRINTED},
        stacks=_ends(folder / "attempt" / "stacks.txt", MOST_OUTPUT),
        damage=_damage(Path(saved[-1])) if saved and part.part_request.part == "stop" else "",
        elapsed_s=part.ended_s - part.began_s,
    )


def _faults_of_others(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Yield where a fault struck processes but for the first."""
    for path in sorted(folder.glob(OF_OTHERS)):
        yield from (each for each in _lines(path) if _is_event(each) and each.get("about") == "fault")


def reached_stage(part_request: PartRequest) -> str:
    """Return the stage that a part has reached so far; empty if it has reached none."""
    said = _lines(Path(part_request.folder, HOOK_EVENTS))
    return next((str(each["name"]) for each in reversed(said) if each.get("event") == "enter" and "name" in each), "")


def _is_event(said: Mapping[str, Any]) -> bool:
    """True if the hooks may have written an event; a script can write into the same file."""
    kind = said.get("event")
    return isinstance(kind, str) and said.keys() >= EVENT_KEYS.get(kind, frozenset())


def _damage(checkpoint: Path) -> str:
    if not checkpoint.is_dir():
        return f"{checkpoint.name} is gone"
    found = verify_checkpoint(checkpoint)
    problems = "; ".join(f"{each.file}: {each.message}" for each in found.problems)
    return "" if found.verdict == "whole" else f"{checkpoint.name} is {found.verdict}: {problems}"


def _lines(path: Path) -> list[Mapping[str, Any]]:
    """Return the JSON objects of a file; a last line that was cut off is left out."""
    found: list[Mapping[str, Any]] = []
    for line in _ends(path, MOST_EVENTS).splitlines():
        with suppress(ValueError):
            if isinstance(said := parse_json(line), dict):
                found.append(said)
    return found


def _ends(path: Path, most_bytes: int) -> str:
    """Return what a script has written into a file, as far as it is read; nothing if it has removed or replaced the file."""
    with suppress(OSError):
        return read_both_ends(path, most_bytes)
    return ""


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _open(stream: Any) -> Any:
    """Return a pipe that was requested, and so is there."""
    assert stream is not None  # noqa: S101 - Popen was given PIPE
    return stream
