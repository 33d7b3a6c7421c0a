"""Processes that are known by a variable in their environment, wherever they went: children of children too."""

import os
from contextlib import suppress
from signal import SIGKILL

import psutil


def end_group(pid: int, mark: str, token: str) -> None:
    """End a process group, and every process whose environment has `token` as `mark`."""
    with suppress(ProcessLookupError):
        os.killpg(pid, SIGKILL)
    for process in psutil.process_iter():
        try:
            if process.environ().get(mark) == token:
                process.kill()
        except (psutil.Error, OSError):
            continue  # another's, or gone meanwhile
