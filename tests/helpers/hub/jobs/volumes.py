"""Folders of buckets and repositories, and how writes to them arrive: late, whole files only, and never if the machine is gone before.

Source: hf-mount, which mounts buckets in Jobs and Spaces. A file is uploaded once it is closed, in batches (huggingface/hf-mount issue 222: what stays
open is not uploaded at all); SIGTERM drains what waits, a lost node loses it (issues 221, 222). A process that is killed
closes its files: what it had written of one arrives, and is not whole. Of several writers the last one wins. Its README tells of 2 seconds that a closed
file waits for others, and 30 at most; and of a mode that can only append, which is not imitated here. Files that come from elsewhere while a job runs
appear within 30 seconds; here only those that are new. Models and datasets are read-only, buckets
read-write unless asked otherwise (https://huggingface.co/docs/hub/jobs-configuration). A folder that is not in the bucket fails the job
(`sync_job_volume` of `huggingface_hub/hf_api.py` 2.4.0, which puts a `.keep` there).
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from stat import S_ISREG
from typing import Any

from tests.helpers.hub.buckets.store import Bucket
from tests.helpers.hub.world import World

Signature = tuple[int, int, int]


class VolumeError(Exception):
    """A volume that cannot be mounted."""


@dataclass(slots=True, kw_only=True)
class Volume:
    """A mounted folder.

    Attributes:
        target: Where the job sees it.
        folder: Where it is on this machine.
        bucket: Whose files it has; None for a repository.
        prefix: Folder of the bucket or repository, with a slash at its end; empty for all of it.
        known: What is in the bucket of it, by path.
        due: When what is new arrives there; None as a signature is a deletion.
    """

    target: str
    folder: Path
    read_only: bool
    bucket: Bucket | None
    prefix: str
    known: dict[str, Signature] = field(default_factory=dict[str, Signature])
    due: dict[str, tuple[float, Signature | None]] = field(default_factory=dict)

    @property
    def writable(self) -> bool:
        return self.bucket is not None and not self.read_only


def mount(world: World, asked: Mapping[str, Any], folder: Path) -> Volume:
    """Return a volume with its files. Raises VolumeError."""
    prefix = f"{asked['path'].strip('/')}/" if asked.get("path") else ""
    source, kind = asked["source"], asked["type"]
    bucket = world.buckets.all.get(source) if kind == "bucket" else None
    files: Mapping[str, bytes]
    if kind == "bucket":
        if bucket is None:
            raise VolumeError(f"Volume mount failed: bucket {source} not found")
        files = bucket.contents
    else:
        repo = world.repositories.get((kind, source))
        if repo is None:
            raise VolumeError(f"Volume mount failed: {kind} {source} not found")
        files = {path: file.content for path, file in repo.at(asked.get("revision") or "main").files.items()}
    files = {path[len(prefix) :]: content for path, content in files.items() if path.startswith(prefix)}
    if prefix and not files:
        raise VolumeError(f"Volume mount failed: {prefix.rstrip('/')} not found in {kind} {source}")
    folder.mkdir(parents=True)
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    read_only = bool(asked.get("readOnly")) or bucket is None
    volume = Volume(target=asked["mountPath"], folder=folder, read_only=read_only, bucket=bucket, prefix=prefix)
    volume.known = dict(listed(folder))
    return volume


def listed(folder: Path) -> Iterator[tuple[str, Signature]]:
    """Give the files of a folder, with what changes when they do."""
    for path in folder.rglob("*"):
        with suppress(OSError):
            stat = path.lstat()
            if S_ISREG(stat.st_mode):
                yield path.relative_to(folder).as_posix(), (stat.st_ino, stat.st_size, stat.st_mtime_ns)


def carry(world: World, volume: Volume, session: int, *, now: bool = False) -> bool:
    """Let what is due arrive in the bucket, or all that is closed if `now`; return whether there was anything new."""
    if not volume.writable:
        return False
    here = dict(listed(volume.folder))
    fresh = {path: seen for path, seen in here.items() if volume.known.get(path) != seen}
    held = being_written(session) if fresh else set()
    wanted: dict[str, Signature | None] = {p: s for p, s in fresh.items() if s[0] not in held}
    wanted |= {path: None for path in volume.known if path not in here}
    at_s = world.clock.now_s
    volume.due = {path: one for path, one in volume.due.items() if path in wanted and wanted[path] == one[1]}
    for path, seen in wanted.items():
        volume.due.setdefault(path, (at_s + delay_s(world, path), seen))
    for path, (due_s, seen) in sorted(volume.due.items()):
        if now or due_s <= world.clock.now_s:
            _arrive(world, volume, path, seen)
            del volume.due[path]
    return bool(wanted)


def bring(world: World, volume: Volume) -> None:
    """Let files appear that came to the bucket from elsewhere since it was mounted."""
    if volume.bucket is None:
        return
    with world.lock:
        named = {path: file for path, file in volume.bucket.files.items() if path.startswith(volume.prefix)}
    for path, file in named.items():
        own = path[len(volume.prefix) :]
        place = volume.folder / own
        if own in volume.known or place.exists() or world.clock.now_s < file.uploaded_s + world.jobs.read_delay_s:
            continue
        arriving = volume.folder.with_name(f"{volume.folder.name}.arriving")
        arriving.write_bytes(file.content)
        place.parent.mkdir(parents=True, exist_ok=True)
        arriving.replace(place)
        stat = place.lstat()
        volume.known[own] = (stat.st_ino, stat.st_size, stat.st_mtime_ns)


def delay_s(world: World, path: str) -> float:
    """Return how late a file arrives."""
    named = (late_s for pattern, late_s in world.jobs.write_delays.items() if fnmatch(path, pattern))
    return next(named, world.jobs.write_delay_s)


def _arrive(world: World, volume: Volume, path: str, seen: Signature | None) -> None:
    bucket, name = volume.bucket, volume.prefix + path
    assert bucket is not None
    if seen is None:
        del volume.known[path]
        with world.lock:
            bucket.files.pop(name, None)
        return
    volume.known[path] = seen
    try:
        content = (volume.folder / path).read_bytes()
    except OSError:
        return
    with world.lock:
        if not bucket.put(name, content, mtime_s=seen[2] / 1e9, now_s=world.clock.now_s):
            bucket.refused.append(name)


def being_written(session: int) -> set[int]:
    """Return the inodes of the files that processes of a session have open to write."""
    held: set[int] = set()
    for pid in processes(session):
        with suppress(OSError):
            for opened in Path(f"/proc/{pid}/fd").iterdir():
                told = Path(f"/proc/{pid}/fdinfo/{opened.name}").read_text()
                if int(told.partition("flags:")[2].split()[0], 8) & os.O_ACCMODE:
                    held.add(opened.stat().st_ino)
    return held


def processes(session: int) -> Iterator[int]:
    """Give the processes of a session."""
    for pid in [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()]:
        with suppress(OSError):
            if os.getsid(pid) == session:
                yield pid
