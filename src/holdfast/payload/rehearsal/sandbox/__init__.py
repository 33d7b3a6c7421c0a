"""A sandbox of the kernel's around the script, where the kernel offers one: the guards in Python explain, this holds.

* Processes: the server and all that it starts are in a PID namespace, and end with it, whatever session they moved to.
* Files: `mounts` covers what could be written to.
* Network: each part has a loopback interface of its own, and nothing else; `gate` leads to what the guards let through.

Each is tried once, in a process of its own, before it is relied on. Covered: Linux from 5.12, as root or where users may make
namespaces. Not covered: containers without that right, macOS; there the guards in Python stand alone.
"""

import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from ..events import EventWriter
from ..part_request import PartRequest
from . import kernel, mounts
from .gate import find_gate, open_gate

ROOTS_RIGHTS = sum(1 << number for number in (0, 1, 3, 4, 5, 6, 7, 10, 14, 23, 24))
"""Capabilities over files, processes and users that root keeps; none over mounts, devices, networks or the kernel."""
MARK = "HOLDFAST_SANDBOXED"
"""Variable of a server in a sandbox."""
FIRST = 1
"""The id of the process that ends all others of its PID namespace when it ends."""
NO_LINUX = "the system is not Linux"


def enter() -> str:
    """Go on as the first process of a sandbox; return why there is none, or nothing.

    The process that calls it stays behind, waits, and ends as the first one does. It has a single thread.
    """
    if os.getpid() == FIRST and MARK in os.environ:
        return ""  # it was entered before this program began anew
    if because := why_none():
        return because
    kernel.unshare(kernel.NEWPID | kernel.NEWNS)
    if first := os.fork():
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)  # its end is the end of what is answered
        os._exit(abs(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])))
    kernel.end_with_parent()
    kernel.mount_proc()
    os.environ[MARK] = "1"
    return ""


def why_none() -> str:
    """Return why this machine gives no sandbox; nothing if a process could enter one."""
    if sys.platform != "linux":
        return NO_LINUX
    read, write = os.pipe()
    with tempfile.TemporaryDirectory(prefix="holdfast-sandbox-") as workspace, os.fdopen(read) as answer:
        if not (tried := os.fork()):
            _try_in_a_child(workspace, write)
        os.close(write)
        because = answer.read()
        return because if os.waitpid(tried, 0)[1] else ""


def _try_in_a_child(workspace: str, answer: int) -> NoReturn:
    """Do all that a sandbox takes; write why it fails, and end."""
    code = 1
    try:
        kernel.unshare(kernel.NEWPID | kernel.NEWNS)
        if first := os.fork():
            code = int(os.waitpid(first, 0)[1] != 0)
        else:
            kernel.mount_proc()
            mounts.cover(workspace, [], [], [])
            _leave_network()
            code = 0
    except (OSError, AttributeError) as error:  # a C library without these functions
        os.write(answer, str(error).encode())
    finally:
        os._exit(code)


def _leave_network() -> None:
    kernel.unshare(kernel.NEWNET)
    kernel.raise_loopback()


def enclose(
    part_request: PartRequest, events: EventWriter, homes: Sequence[str], caches: Sequence[str], secrets: Sequence[str]
) -> PartRequest:
    """Enclose this process and what it will start.

    Args:
        part_request: The part that is played.
        events: Told of file systems that are not covered.
        homes: Folders of the user's in which a script is likely to write.
        caches: Folders that are used as they are.
        secrets: Files in them that are not to be written to.

    Returns:
        The part request, with the port at which the network is reached.

    Raises:
        OSError: The kernel refuses what it did not refuse when it was tried.
    """
    if MARK not in os.environ:
        return part_request
    gate = find_gate(part_request.gate)
    kernel.unshare(kernel.NEWNS | kernel.NEWIPC)
    workspace = Path(part_request.folder, "covered")
    workspace.mkdir()
    own = [part_request.folder, *filter(None, [part_request.resume])]
    uncovered = mounts.cover(str(workspace), homes, [*own, *caches], secrets)
    _leave_network()
    port = open_gate(gate, offline=part_request.offline)
    kernel.drop_rights(ROOTS_RIGHTS if os.geteuid() == 0 else 0)
    for path in uncovered:
        events.not_rehearsed(
            f"files in {path} in the sandbox",
            "overlayfs does not support this file system: what the script writes there stays",
        )
    return replace(part_request, port=port)
