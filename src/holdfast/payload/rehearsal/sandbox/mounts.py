"""The file system of a sandbox: what is there can be read and seems to be written, and stays as it was.

Each file system that could be written to is covered by an overlay: what is written comes to lie in memory, and is gone with the
last process of the sandbox. So a library that writes by itself, in C or in a program of its own, neither fails nor changes
anything. Some folders are the machine's own: the rehearsal's, caches, shared memory.

Covered: Linux from 5.12, which has `mount_setattr`. Not covered: a file system that no overlay can lie on (Lustre, CIFS). It
stays as it is, and is named.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from . import kernel

KERNELS = ("/proc", "/sys", "/dev")
"""What is no disk. It cannot be written to, but for devices."""
DEVICES = "null zero full random urandom tty ptmx pts kfd dri infiniband nvidia* accel* shm mqueue"
"""What root may use of `/dev`, where it could write to the disks themselves."""
IN_MEMORY = ("/dev/shm", "/dev/mqueue")  # noqa: S108 - nothing is written there


@dataclass(frozen=True)
class Mount:
    """A line of `/proc/self/mountinfo`."""

    path: str
    readonly: bool


def read_mounts(text: str) -> list[Mount]:
    r"""Return the mounts of a table, each path once, the outer ones first.

    >>> read_mounts("21 1 8:1 / / rw - ext4 /dev/a rw\n22 21 8:2 / /my\\040disk ro - ext4 /dev/b rw")
    [Mount(path='/', readonly=False), Mount(path='/my disk', readonly=True)]
    """
    found = {}
    for line in text.splitlines():
        fields = line.split(" ")
        path = re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
        found[path] = Mount(path, "ro" in fields[5].split(",") or "ro" in fields[-1].split(","))
    return list(found.values())


def _own_part(folder: str, writable: list[str]) -> str:
    """Return the outermost folder of the user's that holds one of theirs; the folder itself where it is another's."""
    if is_below(folder, writable):
        return folder
    mine = os.geteuid(), Path(folder).stat().st_dev
    held = [each for each in Path(folder).parents if (each.stat().st_uid, each.stat().st_dev) == mine]
    return str(min(held, key=lambda each: len(each.parts), default=folder))


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Return whether a path is one of some folders, or lies in one.

    >>> is_below("/dev/shm", ["/dev"]), is_below("/device", ["/dev"])
    (True, False)
    """
    return any(path == each or path.startswith(each.rstrip("/") + "/") for each in folders)


def cover(workspace: str, homes: Iterable[str], writable: Iterable[str], readonly: Iterable[str]) -> list[str]:
    """Cover all file systems, for this process and those that it starts.

    Args:
        workspace: A folder that nothing else uses.
        homes: Folders of the user's: an overlay cannot copy folders of others, and so needs one of its own there.
        writable: Folders that are written to for real; links are followed.
        readonly: Files in them that are not.

    Returns:
        Folders that could not be covered.

    Raises:
        OSError: The kernel does not let us; nothing is covered then.
    """
    cwd, writable = str(Path.cwd()), _existing(writable)
    mounts = read_mounts(Path("/proc/self/mountinfo").read_text(encoding="utf-8"))
    covered = {each for each in mounts if not is_below(each.path, [*KERNELS, *writable])}
    covered |= {
        Mount(_own_part(each, writable), readonly=False) for each in _existing(homes) if os.access(each, os.W_OK)
    }
    kept = {each: kernel.clone(each) for each in writable}
    kept |= {each: kernel.clone(each, readonly=True) for each in _existing(readonly)}
    kernel.attach(kernel.file_system(b"tmpfs", mode="700"), workspace)
    covers = Covers(Path(workspace), [each.path for each in mounts])
    for mount in covered:
        covers.add(mount)
    (root := Path(workspace, "root")).mkdir()
    for path, tree in [*sorted((covers.trees | kept).items(), key=_depth), *_kernel_trees()]:
        kernel.attach(tree, f"{root}{path}")
    kernel.become_root(str(root))
    os.chdir(cwd)
    return covers.uncovered


def _depth(tree: tuple[str, int]) -> int:
    return len(tree[0].rstrip("/"))


class Covers:
    """What is to be seen at each mount, as trees that are attached nowhere yet.

    Args:
        layers: A folder in memory, for what is written.
        mounts: The paths of all mounts.
    """

    def __init__(self, layers: Path, mounts: list[str]) -> None:
        self._layers, self._mounts, self._number = layers, mounts, 0
        self.trees: dict[str, int] = {}
        self.uncovered: list[str] = []

    def add(self, mount: Mount) -> None:
        """Cover a mount; leave out one that another lies over, or that is hidden from this user."""
        with suppress(OSError):
            if mount.readonly or not Path(mount.path).is_dir():
                self.trees[mount.path] = kernel.clone(mount.path, readonly=True)
            elif not self._overlay(mount.path):
                self._cover_pieces(mount.path)

    def _cover_pieces(self, path: str) -> None:
        """Cover the folders of a mount one by one: only root may lay an overlay over what holds other mounts."""
        whole, holders = _pieces(path, self._mounts)
        uncovered = [*holders, *(each for each in whole if not self._overlay(each))]
        bare = [each for each in uncovered if os.access(each, os.W_OK)]
        self.trees[path] = kernel.clone(path, readonly=not bare)
        self.uncovered += bare

    def _overlay(self, path: str) -> bool:
        """Lay an overlay over a folder; return whether that is possible."""
        self._number += 1
        layers = self._layers / str(self._number)
        for each in ("new", "work"):
            (layers / each).mkdir(parents=True)
        mode = Path(path).stat().st_mode & 0o7777
        (layers / "new").chmod(mode | 0o700 if os.access(path, os.W_OK) else mode & ~0o222)
        lower = os.open(path, os.O_PATH | os.O_DIRECTORY)
        places = {"lowerdir": f"/proc/self/fd/{lower}", "upperdir": f"{layers}/new", "workdir": f"{layers}/work"}
        try:
            self.trees[path] = kernel.file_system(b"overlay", **places, userxattr="")
        except OSError:
            return False
        finally:
            os.close(lower)
        return True


def _pieces(path: str, mounts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the outermost folders that hold no mount, and those that do, of a mount."""
    inner = [each for each in mounts if each != path and is_below(each, [path])]
    whole, holders = list[str](), [path]
    with os.scandir(path) as entries:
        folders = [each.path for each in entries if each.is_dir(follow_symlinks=False)]
    for folder in folders:
        if folder in inner:
            continue
        if not any(is_below(each, [folder]) for each in inner):
            whole.append(folder)
            continue
        deeper, more = _pieces(folder, inner)
        whole, holders = whole + deeper, holders + more
    return whole, holders


def _kernel_trees() -> Iterator[tuple[str, int]]:
    """Yield what the kernel shows of itself: only devices and memory can be written to; root gets no disks."""
    is_root = os.geteuid() == 0
    for path in KERNELS:
        yield path, kernel.clone(path, readonly=True, nodev=is_root)
    devices = [path for name in DEVICES.split() for path in map(str, Path("/dev").glob(name))] if is_root else IN_MEMORY
    for path in _existing(devices):
        yield path, kernel.clone(path)


def _existing(paths: Iterable[str]) -> list[str]:
    return [each for each in dict.fromkeys(map(os.path.realpath, paths)) if Path(each).exists()]
