"""Processes that are known by a variable in their environment, wherever they went: children of children too."""

import os
from contextlib import suppress
from signal import SIGKILL

import psutil

ROUNDS = 10
"""How often processes are looked for: one that is being started while the others are ended shows in the next round."""


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
