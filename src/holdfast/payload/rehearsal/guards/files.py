"""Files: whatever Python writes for the script goes into the rehearsal's folder, and is read from there again.

`os`, `io`, `pathlib` and `shutil` are covered, and with `library_files` some libraries that open files themselves. Caches are
used as they are.

Not covered: other libraries that open files in C, C++ or Rust, and programs that the script starts. What an audit hook sees
of Python's own functions is reported as the fact `wrote`; what is deleted, as `kept`.
"""

import builtins
import errno
import functools
import glob
import importlib.machinery
import io
import os
import pathlib
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ..events import EventWriter
from ..part_request import PartRequest
from ..wrapping import replace_everywhere, wrap
from .library_files import LibraryFiles
from .overlay import Overlay

CACHES = (
    "HF_HOME XDG_CACHE_HOME HF_HUB_CACHE HUGGINGFACE_HUB_CACHE HF_DATASETS_CACHE HF_MODULES_CACHE TRANSFORMERS_CACHE TORCH_HOME "
    "TRITON_CACHE_DIR TORCHINDUCTOR_CACHE_DIR NUMBA_CACHE_DIR UV_CACHE_DIR PIP_CACHE_DIR MPLCONFIGDIR TMPDIR HOLDFAST_ATTEMPT"
)
"""Variables that name folders which stay as they are."""
SYSTEM = ("/dev", "/proc", "/sys")
HOME_CACHES = (".cache", ".triton", ".nv", ".config/matplotlib")
READERS = ("stat", "lstat", "readlink", "statvfs", "access")
CHANGERS = ("chmod", "chown", "utime", "truncate")
LONGEST_SOCKET = 50
"""Letters of a folder in which the sockets of processes still find room: their names are 107 at most."""
_installed: list[Overlay] = []
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def install(part_request: PartRequest, events: EventWriter) -> Overlay:
    """Put the rehearsal's folder over the file system; return what maps paths."""
    own_temporary_folder(part_request)
    free = [part_request.folder, tempfile.gettempdir(), *SYSTEM, *caches()]
    guarded = [*workplaces(part_request), *tokens()]
    overlay = Overlay(str(part_request.inside), free, guarded)
    _installed.append(overlay)
    files = GuardedFunctions(overlay, events)
    files.take_over()
    LibraryFiles(files, overlay).take_over()
    _keep_bytecode_at_home()
    sys.addaudithook(functools.partial(_observe, overlay, events, set()))
    return overlay


def caches() -> list[str]:
    """Return the folders that are used as they are, whatever is written to them."""
    named = [os.path.abspath(os.environ[name]) for name in CACHES.split() if os.environ.get(name)]
    return [*(str(Path.home() / each) for each in HOME_CACHES), *named]


def tokens() -> list[str]:
    """Return the files of a cache that hold tokens of the user's, and are not written to."""
    return [str((hub_cache() / name).absolute()) for name in ("token", "stored_tokens")]


def hub_cache() -> Path:
    """Return the folder of huggingface_hub's cache."""
    return Path(os.environ.get("HF_HOME") or Path.home() / ".cache/huggingface")


def workplaces(part_request: PartRequest) -> list[str]:
    """Return the script's own folder, and the one that it is started in."""
    return [str(Path(part_request.script).absolute().parent), os.getcwd()]


def where(path: Any) -> Any:
    """Return where a path is read from: in the rehearsal's folder, if the script has written it."""
    return _installed[-1].reading(path) if _installed else path


def own_temporary_folder(part_request: PartRequest) -> None:
    """Have temporary files made in the rehearsal's folder, if the names of sockets in it are not too long."""
    folder = Path(part_request.folder, "tmp")
    if len(str(folder)) <= LONGEST_SOCKET:
        folder.mkdir(exist_ok=True)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


def _keep_bytecode_at_home() -> None:
    """Have modules of the environment compiled once and for all, and the script's own leave nothing beside them."""
    homes = tuple({sys.prefix, sys.base_prefix})

    def cache(original: Any, loader: Any, source: str, *args: Any) -> None:
        if source.startswith(homes):
            original(loader, source, *args)

    wrap(importlib.machinery.SourceFileLoader, "_cache_bytecode", cache)


def _observe(overlay: Overlay, events: EventWriter, reported: set[str], event: str, arguments: tuple[Any, ...]) -> None:
    """Report files that are opened for writing outside, whoever does it."""
    if event != "open" or not isinstance(arguments[0], str) or not (arguments[2] or 0) & WRITES:
        return
    whole = overlay.whole(arguments[0])
    if whole in reported or not overlay.guards(whole) or ".pyc" in whole:
        return
    reported.add(whole)
    if not os.path.isdir(whole):  # which `tempfile` names where it opens a file in it
        events.fact("wrote", path=whole)


class GuardedFunctions:
    """Functions that take the place of those that read and write files."""

    def __init__(self, overlay: Overlay, events: EventWriter) -> None:
        self._overlay, self._events = overlay, events
        self._reach = overlay.reading

    def take_over(self) -> None:
        """Take the place of Python's functions, and of those of libraries as they are imported."""
        groups: tuple[tuple[Callable[..., Any], Iterable[str]], ...] = (
            (self._read, READERS),
            (self._change, CHANGERS),
            (self._remove, ("remove", "unlink")),
            (self._rename, ("rename", "replace")),
            (self._make, ("mkdir", "mkfifo")),
            (self._link, ("symlink", "link")),
        )
        for around, names in groups:
            for name in names:
                _take(os, name, around)
        for name in ("listdir", "scandir", "rmdir", "chdir", "getcwd"):
            _take(os, name, getattr(self, f"_{name}"))
        _take(os, "open", self._open_descriptor)
        _take(io, "open", self._open)
        replace_everywhere("_builtin_open", builtins.open, io.open)  # as bz2 and lzma call it
        replace_everywhere("open", builtins.open, io.open)
        _take(shutil, "rmtree", self._rmtree)
        _freshen_remembered()

    def _read(self, original: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("dir_fd") is not None:
            return original(path, *args, **kwargs)
        return self._at_other_place(original, self._reach(path), path, *args, **kwargs)

    def _change(self, original: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        if self._passes(path, kwargs):
            return original(path, *args, **kwargs)
        if self._overlay.status(self._overlay.whole(path)) is None:
            return original(path, *args, **kwargs)  # which raises
        return original(self._overlay.writing(path, keep=True), *args, **kwargs)

    def _remove(self, original: Any, path: Any, **kwargs: Any) -> None:
        if self._passes(path, kwargs):
            original(path, **kwargs)
            return
        whole, at = self._overlay.whole(path), self._reach(path)
        shadow = self._overlay.shadow(whole)
        if at == shadow:
            self._at_other_place(original, at, path)
        elif stat.S_ISDIR(os.lstat(path).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        else:
            self._overlay.check(whole, path)
        if os.path.lexists(whole):
            self._hide(whole)

    def _rename(self, original: Any, src: Any, dst: Any, **kwargs: Any) -> None:
        if kwargs or (self.passes(src) and self.passes(dst)):
            original(src, dst, **kwargs)
            return
        os.lstat(src)
        if not self.passes(dst):
            dst = _of_two(self._overlay.writing, src, dst, keep=False)
        if self.passes(src):
            shutil.move(src, dst)  # they may lie on two file systems
            return
        whole = self._overlay.whole(src)
        shutil.move(self._overlay.take_up(src), dst)
        if os.path.lexists(whole):
            self._hide(whole)

    def _make(self, original: Any, path: Any, *args: Any, **kwargs: Any) -> None:
        if self._passes(path, kwargs):
            original(path, *args, **kwargs)
        else:
            self._at_other_place(original, self._overlay.making(path), path, *args)

    def _link(self, original: Any, src: Any, dst: Any, *args: Any, **kwargs: Any) -> None:
        if self._passes(dst, kwargs):
            original(src, dst, *args, **kwargs)
        else:
            near = os.path.join(os.path.dirname(self._overlay.whole(dst)), os.fsdecode(src))
            os.symlink(self._reach(near), _of_two(self._overlay.making, src, dst))

    def _listdir(self, original: Any, path: Any = ".") -> Any:
        if isinstance(path, int) or self.passes(path):
            return original(path)
        names = self._names(path)
        return [os.fsencode(name) for name in names] if isinstance(path, bytes) else names

    def _scandir(self, original: Any, path: Any = ".") -> Any:
        if path is None or isinstance(path, int | bytes) or self.passes(path):
            return original("." if path is None else path)
        if not self._overlay.cwd and not self._overlay.alters(self._overlay.whole(path)):
            return original(path)
        return DirectoryEntries(os.fspath(path), self._names(path))

    def _names(self, path: Any) -> list[str]:
        try:
            return self._overlay.names(path)
        except OSError as error:
            error.filename = path
            raise

    def _rmdir(self, original: Any, path: Any, **kwargs: Any) -> None:
        if self._passes(path, kwargs):
            original(path, **kwargs)
            return
        whole = self._overlay.whole(path)
        if self._names(path):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        if os.path.lexists(self._overlay.shadow(whole)):
            original(self._overlay.shadow(whole))
        if os.path.lexists(whole):
            self._hide(whole)

    def _rmtree(self, original: Any, path: Any, *args: Any, **kwargs: Any) -> None:
        if self.passes(path) or not os.path.lexists(path):
            original(path, *args, **kwargs)
            return
        whole = self._overlay.whole(path)
        shadow = self._overlay.shadow(whole)
        if os.path.lexists(shadow):
            original(shadow)
        if os.path.lexists(whole):
            self._overlay.check(whole, path)
            self._hide(whole)

    def _hide(self, whole: str) -> None:
        self._overlay.hide(whole)
        self._events.fact("kept", path=whole)

    def _chdir(self, original: Any, path: Any) -> None:
        if isinstance(path, int):
            original(path)
            return
        whole = self._overlay.whole(path)
        at = self._reach(path)
        self._at_other_place(original, at, path)
        self._overlay.cwd = whole if at == self._overlay.shadow(whole) else ""

    def _getcwd(self, original: Any) -> str:
        return self._overlay.cwd or str(original())

    def _open(self, original: Any, file: Any, mode: Any = "r", *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("opener"):
            return original(file, mode, *args, **kwargs)
        if not isinstance(mode, str) or not set(mode) & set("wax+") or self.passes(file):
            return self._at_other_place(original, self._reach(file), file, mode, *args, **kwargs)
        at = self._place(file, keep="w" not in mode, new="x" in mode)
        return self._at_other_place(original, at, file, mode, *args, **kwargs)

    def _open_descriptor(self, original: Any, path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if isinstance(path, int) or kwargs.get("dir_fd") is not None:
            return int(original(path, flags, *args, **kwargs))
        if not flags & WRITES or self.passes(path):
            at = self._reach(path)
        else:
            exclusive = flags & os.O_CREAT and flags & os.O_EXCL
            at = self._place(path, keep=not flags & os.O_TRUNC, new=bool(exclusive))
        return int(self._at_other_place(original, at, path, flags, *args, **kwargs))

    def _place(self, path: Any, *, keep: bool, new: bool) -> str:
        """Return where a file is opened for writing, as the file system would let it."""
        whole = self._overlay.whole(path)
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if new and os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        try:
            at = self._overlay.writing(path, keep=keep)
        except OSError as error:
            self._events.fact("unwritable", path=whole, because=error.strerror)
            raise
        return at

    def passes(self, path: Any) -> bool:
        """Whether a path is written to as it is; what is no path is."""
        return not isinstance(path, str | bytes | os.PathLike) or not self._overlay.guards(self._overlay.whole(path))

    def _passes(self, path: Any, kwargs: dict[str, Any]) -> bool:
        return kwargs.get("dir_fd") is not None or self.passes(path)

    def _at_other_place(self, original: Any, at: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a function at another place; its errors name the path that was requested."""
        try:
            return original(at, *args, **kwargs)
        except OSError as error:
            if error.filename == at:
                error.filename = path
            raise

    def place(self, path: Any) -> Any:
        """Return where a library is to write a file or folder that the script names."""
        if self.passes(path):
            return path
        return self._place(path, keep=False, new=False)


class DirectoryEntries:
    """What `os.scandir` gives: entries of a folder, to be gone through once."""

    def __init__(self, folder: str, names: list[str]) -> None:
        self._entries = iter([DirectoryEntry(name, os.path.join(folder, name)) for name in names])

    def __enter__(self) -> "DirectoryEntries":  # noqa: PYI034 - Self came with Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator["DirectoryEntry"]:
        return self._entries

    def __next__(self) -> "DirectoryEntry":
        return next(self._entries)

    def close(self) -> None:
        """Give no more."""
        self._entries = iter(())


class DirectoryEntry:
    """A file or folder in another one, with what `os.DirEntry` tells."""

    def __init__(self, name: str, path: str) -> None:
        self.name, self.path = name, path

    def __fspath__(self) -> str:
        return self.path

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return its status."""
        return os.stat(self.path, follow_symlinks=follow_symlinks)

    def inode(self) -> int:
        """Return its number."""
        return os.lstat(self.path).st_ino

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a folder."""
        return os.path.isdir(self.path) and (follow_symlinks or not self.is_symlink())

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a file."""
        return os.path.isfile(self.path) and (follow_symlinks or not self.is_symlink())

    def is_symlink(self) -> bool:
        """Whether it is a link."""
        return os.path.islink(self.path)

    def is_junction(self) -> bool:
        """Whether it is a junction, which only Windows has."""
        return False


def _take(owner: Any, name: str, around: Callable[..., Any]) -> None:
    if hasattr(owner, name):
        before = getattr(owner, name)
        wrap(owner, name, around)
        after = getattr(owner, name)
        for kind in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
            if before in kind:
                kind.add(after)


def _of_two(place: Callable[..., str], source: Any, target: Any, **how: Any) -> str:
    """Return where something comes to lie; errors name both paths, as those of the file system do."""
    try:
        return place(target, **how)
    except OSError as error:
        raise OSError(error.errno, error.strerror, source, None, target) from None


def _freshen_remembered() -> None:
    """Some releases of Python remember functions of `os` and `io` in classes: 3.10 of pathlib's, 3.13 of glob's."""
    for owner in (getattr(pathlib, "_NormalAccessor", None), getattr(glob, "_StringGlobber", None)):
        for name, kept in list(vars(owner).items()) if owner is not None else ():
            for module in (os, io):
                taken = getattr(module, name, None)
                if taken is not None and getattr(taken, "__wrapped__", None) is getattr(kept, "__func__", kept):
                    setattr(owner, name, staticmethod(taken))
