"""Processes that are known by a variable in their environment, wherever they went: children of children too."""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import SIGINT, SIGKILL, siginterrupt
from typing import IO
from uuid import uuid4

import psutil

WATCHER = 'read -r group && { read -r _; kill -s KILL -- "-$group"; }'
"""Ends a process group, which it reads, when this process has ended, however it did: the pipe closes then."""
ROUNDS = 10
"""How often processes are looked for: one that is being started while the others are ended shows in the next round."""


@contextmanager
def marked_child(  # noqa: PLR0913 - what a process gets, as of subprocess
    words: Sequence[str],
    mark: str,
    *,
    variables: Mapping[str, str] | None,
    folder: Path | None = None,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.DEVNULL,
    stderr: int | IO[bytes] = subprocess.DEVNULL,
) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a process in a session of its own. At the end of the block, it is ended with all that it started, and its pipes are closed.

    If this process is killed, its group is ended. Ctrl-C ends a wait for it.

    Args:
        words: The command.
        mark: The variable by which what it starts is known.
        variables: Other variables, beside those of this process.
        folder: Where it runs. Default: here.
        stdin: As of `subprocess`, like the next two.
        stdout: Likewise.
        stderr: Likewise.
    """
    token = uuid4().hex
    siginterrupt(SIGINT, True)  # noqa: FBT003 - after an import of polars, system calls would be restarted
    with (
        _watcher() as watcher,
        subprocess.Popen(  # noqa: S603 - the words are a list, no shell reads them
            words,
            cwd=folder,
            env={**os.environ, **(variables or {}), mark: token},
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        ) as child,
    ):
        try:
            watcher.write(f"{child.pid}\n".encode())
            yield child
        finally:
            end_group(child.pid, mark, token)


@contextmanager
def _watcher() -> Iterator[IO[bytes]]:
    """Start a process that has the group whose number is written to it end if this process ends within the block."""
    words = ["/bin/sh", "-c", WATCHER]
    with subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True, bufsize=0) as watcher:  # noqa: S603 - our own words
        assert watcher.stdin  # noqa: S101 - it has a pipe
        try:
            yield watcher.stdin
        finally:
            watcher.kill()


def end_group(pid: int, mark: str, token: str) -> None:
    """End a process group, and every process whose environment has `token` as `mark`."""
    with suppress(ProcessLookupError):
        os.killpg(pid, SIGKILL)
    for _ in range(ROUNDS):
        marked = find_marked(mark, token)
        for process in marked:
            with suppress(psutil.Error):
                process.kill()
        if not marked:
            return


def find_marked(mark: str, token: str) -> list[psutil.Process]:
    """Return the living processes whose environment has `token` as `mark`."""
    return [process for process in psutil.process_iter() if _is_marked(process, mark, token)]


def _is_marked(process: psutil.Process, mark: str, token: str) -> bool:
    try:
        return process.environ().get(mark) == token and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):
        return False  # another's, or gone meanwhile
