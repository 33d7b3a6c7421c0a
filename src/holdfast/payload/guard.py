"""Stands by one attempt on this machine: starts it at most once, keeps its streams and its exit code.

    python guard.py FOLDER COMMAND…

The guard outlives the supervisor that started it, so whoever looks later can tell what became of the attempt:

* `guard.json` is made exclusively: a second guard for the same folder finds it and leaves.
* it is locked for as long as the guard or anything it started lives; a process id could be another's by then.
* `exit.json` is written last.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import BinaryIO

APPENDING = os.O_WRONLY | os.O_CREAT | os.O_APPEND


def main(folder: Path, command: list[str]) -> int:
    """Claim the attempt and leave a child behind that runs it; return 0 also where another guard was sooner."""
    claim = make_claim(folder)
    if claim is None:
        return 0
    if child := os.fork():
        os.write(claim, json.dumps({"pid": child, "at": time.time(), "command": command}).encode())
        return 0
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)  # whoever started the guard waits for these to close
    # A handler, not SIG_IGN: what is ignored stays ignored in the child, and the child must hear its signals.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stay)
    kills = count_oom_kills()
    code = run(folder, command, claim)
    record: dict[str, object] = {"exit_code": code, "at": time.time(), "oom_kills": count_oom_kills() - kills}
    with suppress(OSError):
        disk = os.statvfs(folder)
        record["disk_free_bytes"] = disk.f_bavail * disk.f_frsize
    write_whole(folder / "exit.json", record)
    return code


def count_oom_kills() -> int:
    """Return the number of processes of this group, or of this machine, that the kernel has killed for lack of memory."""
    for name in ("/sys/fs/cgroup/memory.events", "/proc/vmstat"):
        with suppress(OSError):
            counters = [line.split() for line in Path(name).read_text().splitlines()]
            if found := [int(words[1]) for words in counters if words[0] == "oom_kill"]:
                return found[0]
    return 0


def make_claim(folder: Path) -> int | None:
    """Return the open `guard.json`, made by this guard and locked before anybody can see it; None if there is one."""
    mine = folder / f".guard.{os.getpid()}"
    claim = os.open(mine, APPENDING, 0o600)
    fcntl.flock(claim, fcntl.LOCK_EX)  # shared with every child that keeps this file open
    try:
        os.link(mine, folder / "guard.json")
    except FileExistsError:
        return None
    finally:
        mine.unlink()
    return claim


def run(folder: Path, command: list[str], claim: int) -> int:
    """Start the command with its streams in files, and wait. 127: it could not be started."""
    with open_private(folder / "stdout.log") as out, open_private(folder / "stderr.log") as err:
        try:
            child = subprocess.Popen(  # noqa: S603 - the words are a list, no shell reads them
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, pass_fds=(claim,)
            )
            return child.wait()
        except OSError as error:
            err.write(f"{command[0]}: {error.strerror}\n".encode())
            return 127


def open_private(path: Path) -> BinaryIO:
    """Open a file to append to, which its owner alone may read."""
    return os.fdopen(os.open(path, APPENDING, 0o600), "ab")


def write_whole(path: Path, value: object) -> None:
    """Write JSON so that a reader sees all of it or nothing."""
    partial = path.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    with open_private(partial) as file:
        file.write(json.dumps(value).encode())
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def stay(_number: int, _frame: FrameType | None) -> None:
    """Outlast a signal that was meant for the training processes."""


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
