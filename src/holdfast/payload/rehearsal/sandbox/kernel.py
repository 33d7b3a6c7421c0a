"""Calls of the Linux kernel that Python 3.10 has no functions for.

Source: unshare(2), mount(2), mount_setattr(2), capabilities(7), prctl(2); numbers of system calls above 423 are the same on
every architecture.
"""

import ctypes
import fcntl
import os
import signal
import socket
import struct
from pathlib import Path

LIBRARY = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
PRIVATE, RECURSIVE, DETACH = 1 << 18, 1 << 14, 2
PROC_FLAGS = 2 | 4 | 8
"""Neither programs of another user, nor devices, nor programs at all."""
RDONLY, NODEV = 1, 4
OPEN_TREE, MOVE_MOUNT, FSOPEN, FSCONFIG, FSMOUNT, MOUNT_SETATTR = 428, 429, 430, 431, 432, 442
HERE, EMPTY_PATH, ALL_BELOW, CLONE, CLOEXEC, NO_AUTOMOUNT = -100, 0x1000, 0x8000, 1, 0o2000000, 0x800
SET_FLAG, SET_STRING, CREATE = 0, 1, 6
SIOCSIFFLAGS, LOOPBACK_IS_UP = 0x8914, 1 | 64
PDEATHSIG, NO_NEW_PRIVS, CAPBSET_DROP, AMBIENT, AMBIENT_CLEAR = 1, 38, 24, 47, 4
CAPSET_VERSION = 0x20080522
LAST_CAPABILITY = 63
CAPABILITIES = struct.Struct("IIIIII")
"""Effective, permitted and inheritable ones: of the first 32, then of the others."""


def call(name: str, *arguments: object) -> int:
    """Return the result of a function of the C library. Raises OSError where it fails."""
    result = int(getattr(LIBRARY, name)(*arguments))
    if result < 0:
        number = ctypes.get_errno()
        what = name if name != "syscall" else f"system call {arguments[0]}"
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def unshare(flags: int) -> None:
    """Move to namespaces of our own; who may not make them makes a user namespace too, which has all rights in itself."""
    try:
        call("unshare", flags)
    except PermissionError:
        user, group = os.geteuid(), os.getegid()
        call("unshare", flags | NEWUSER)
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")


def raise_loopback() -> None:
    """Switch on the one interface that a new network namespace has."""
    with socket.socket() as anything:
        fcntl.ioctl(anything, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", LOOPBACK_IS_UP))


def mount_proc() -> None:
    """Have `/proc` show the processes of this PID namespace."""
    call("mount", b"none", b"/", None, PRIVATE | RECURSIVE, None)
    call("mount", b"proc", b"/proc", b"proc", PROC_FLAGS, None)


def clone(path: str, *, readonly: bool = False, nodev: bool = False) -> int:
    """Return a copy of the mounts at and below a path that is attached nowhere yet."""
    flags = CLONE | ALL_BELOW | CLOEXEC | NO_AUTOMOUNT
    tree = call("syscall", OPEN_TREE, HERE, os.fsencode(path), flags)
    if readonly or nodev:
        changed = struct.pack("QQQQ", RDONLY * readonly | NODEV * nodev, 0, 0, 0)
        call("syscall", MOUNT_SETATTR, tree, b"", EMPTY_PATH | ALL_BELOW, changed, len(changed))
    return tree


def file_system(kind: bytes, **options: str) -> int:
    """Return a new file system that is attached nowhere yet."""
    made = call("syscall", FSOPEN, kind, 1)
    try:
        for name, value in options.items():
            call("syscall", FSCONFIG, made, SET_STRING if value else SET_FLAG, name.encode(), value.encode() or None, 0)
        call("syscall", FSCONFIG, made, CREATE, None, None, 0)
        return call("syscall", FSMOUNT, made, 1, 0)
    finally:
        os.close(made)


def attach(tree: int, path: str) -> None:
    """Attach what `clone` or `file_system` returned."""
    try:
        call("syscall", MOVE_MOUNT, tree, b"", HERE, os.fsencode(path), 4)
    finally:
        os.close(tree)


def become_root(folder: str) -> None:
    """Make the mount at a folder the root, and leave the old one behind for good."""
    pivot_root = {"x86_64": 155, "aarch64": 41}.get(os.uname().machine)
    if pivot_root is None:
        raise OSError(f"holdfast knows no pivot_root of {os.uname().machine}")
    os.chdir(folder)
    call("syscall", pivot_root, b".", b".")
    call("umount2", b".", DETACH)
    os.chdir("/")


def drop_rights(kept: int) -> None:
    """Give up all capabilities but some, for good; programs that are started cannot regain them.

    Args:
        kept: A bit for each that stays.
    """
    for number in range(LAST_CAPABILITY + 1):
        if not kept >> number & 1:
            LIBRARY.prctl(CAPBSET_DROP, number, 0, 0, 0)  # fails of numbers that this kernel does not have
    call("prctl", AMBIENT, AMBIENT_CLEAR, 0, 0, 0)
    header, held = struct.pack("Ii", CAPSET_VERSION, 0), ctypes.create_string_buffer(CAPABILITIES.size)
    call("capget", header, held)
    kept &= CAPABILITIES.unpack(held.raw)[1]  # those of the first 32 are all that matter
    call("capset", header, CAPABILITIES.pack(kept, kept, 0, 0, 0, 0))
    call("prctl", NO_NEW_PRIVS, 1, 0, 0, 0)


def end_with_parent() -> None:
    """Have the kernel kill this process when the one that started it ends."""
    call("prctl", PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
