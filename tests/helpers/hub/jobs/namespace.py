"""Mounts volumes where a job expects them, so that `/data` is `/data`: in a mount namespace of the job's own, where this machine allows one.

Where it does not, the paths are changed on their way in (command, variables) and out (log lines); a program that has such a path in its own text does
not find it then.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from shutil import which

from tests.helpers.hub.jobs.volumes import Volume

# A root of its own, in which everything of this machine is bound, and the volumes. `os.unshare` is newer than Python 3.11.
ENTER = """
import ctypes, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
BIND, RECURSIVE, READ_ONLY, REMOUNT = 4096, 16384, 1, 32
def mount(source, target, kind, flags):
    if libc.mount(source.encode(), target.encode(), kind, flags, None) and not flags & REMOUNT:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), target)
def mirror(folder):
    for entry in os.scandir(folder):
        place = root + entry.path
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), place)
        elif entry.is_dir() and any(target.startswith(entry.path + "/") for _, target, _ in volumes):
            os.mkdir(place)
            mirror(entry.path)
        elif entry.is_dir() or entry.is_file():
            os.mkdir(place) if entry.is_dir() else open(place, "w").close()
            mount(entry.path, place, None, BIND | RECURSIVE)
root, volumes, folder, command = json.loads(sys.argv[1])
mount("none", root, b"tmpfs", 0)
mirror("/")
for source, target, read_only in volumes:
    os.makedirs(root + target, exist_ok=True)
    mount(source, root + target, None, BIND)
    if read_only:
        mount(source, root + target, None, BIND | REMOUNT | READ_ONLY)
os.chroot(root)
os.chdir(folder)
try:
    os.execvp(command[0], command)
except OSError as error:
    print(f"exec: {command[0]}: {error.strerror}", flush=True)
    os._exit(127)
"""


@cache
def unshare() -> tuple[str, ...]:
    """Return the command that begins a mount namespace here; empty if there can be none."""
    program = which("unshare")
    for flags in ("-m", "-rm") if program else ():
        tried = [str(program), flags, "sh", "-c", "mount -t tmpfs none /mnt"]
        if subprocess.run(tried, check=False, capture_output=True).returncode == 0:
            return (str(program), flags)
    return ()


def entering(root: Path, volumes: Sequence[Volume], folder: Path, command: Sequence[str]) -> list[str]:
    """Return a command that runs another one in a namespace with its volumes."""
    root.mkdir(parents=True)
    mounts = [(str(one.folder), one.target, one.read_only) for one in volumes]
    asked = json.dumps([str(root), mounts, str(folder), list(command)])
    return [*unshare(), sys.executable, "-I", "-S", "-c", ENTER, asked]


def inward(text: str, volumes: Sequence[Volume]) -> str:
    """Put the folders of this machine in the place of the paths that a job uses."""
    for one in volumes:
        text = re.sub(rf"(?<![\w./-]){re.escape(one.target)}(?![\w.-])", str(one.folder), text)
    return text


def outward(text: str, volumes: Sequence[Volume]) -> str:
    """Undo `inward`."""
    for one in volumes:
        text = text.replace(str(one.folder), one.target)
    return text


def all_inward(variables: Mapping[str, str], volumes: Sequence[Volume]) -> dict[str, str]:
    """Do so with the values of variables."""
    return {name: inward(value, volumes) for name, value in variables.items()}
