"""Where what a script writes goes: a folder that lies over the file system, so that nothing outside it changes.

A path of the script's has its *shadow* at the same place in the folder. Whatever is written goes to the shadow; whatever is
read comes from there if it is there, else from its own place. What is deleted is only taken out of sight.

Raises what the file system would: a parent that is missing or not a folder, a place that may not be written to.
"""

import errno
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from typing import Any

# Before anything takes their place.
_access, _lstat, _stat, _listdir, _mkdir, _getcwd = os.access, os.lstat, os.stat, os.listdir, os.mkdir, os.getcwd
_BY_EFFECTIVE_USER = os.access in os.supports_effective_ids
_readlink, _statvfs, _unlink = os.readlink, os.statvfs, os.unlink


class Overlay:
    """Maps paths to where they are read from and written to.

    Args:
        inside: The folder of shadows.
        free: Folders that are written to as they are: those of the rehearsal, caches, the system's temporary one.
        guarded: Folders that are not, even within free ones. Of two that hold a path the longer one counts, else the free one.
    """

    def __init__(self, inside: str, free: Iterable[str], guarded: Iterable[str]) -> None:
        self._inside = inside
        zones = dict.fromkeys(guarded, False) | dict.fromkeys([*free, inside], True)
        self._zones = sorted(((_closed(folder), is_free) for folder, is_free in zones.items()), key=_longest)
        self._gone: set[str] = set()  # paths that are out of sight
        self._in_use = False
        self.cwd = ""  # where the script believes to be, if that is not if the process is

    def whole(self, path: Any) -> str:
        """Return a path as an absolute one."""
        text = os.fsdecode(path)
        return os.path.normpath(text if text.startswith("/") else f"{self.cwd or _getcwd()}/{text}")

    def guards(self, whole: str) -> bool:
        """Whether what is written to an absolute path goes to its shadow."""
        probe = _closed(whole)
        return not next((is_free for folder, is_free in self._zones if probe.startswith(folder)), False)

    def shadow(self, whole: str) -> str:
        """Return the place of an absolute path in the folder of shadows."""
        return self._inside + whole

    def reading(self, path: Any) -> Any:
        """Return where a path is read from; what is no path is returned as it is."""
        if not isinstance(path, str | bytes | os.PathLike) or not self._holds_something():
            return path
        whole = self.whole(path)
        if not self.guards(whole):
            return path
        shadow = self.shadow(whole)
        if _there(shadow) or self.is_gone(whole):
            return os.fsencode(shadow) if isinstance(path, bytes) else shadow
        return whole if self.cwd else path

    def status(self, whole: str) -> os.stat_result | None:
        """Return the status of what the script sees at an absolute path; None: nothing."""
        try:
            shadow = self.shadow(whole)
            return _stat(shadow if _there(shadow) or self.is_gone(whole) else whole)
        except OSError:
            return None

    def is_gone(self, whole: str) -> bool:
        """Whether a path, or a folder that it lies in, was deleted."""
        return bool(self._gone) and any(place in self._gone for place in _upwards(whole))

    def hide(self, whole: str) -> None:
        """Take what lies at a path out of sight."""
        self._gone.add(whole)
        self._in_use = True

    def writing(self, path: Any, *, keep: bool) -> str:
        """Return where a file is written to, its folder made.

        Args:
            path: As the script gives it.
            keep: Whether what it holds is needed.

        Raises:
            OSError: What the file system would raise, with the script's own path.
        """
        whole = self.whole(path)
        self.check(whole, path)
        shadow = self.shadow(whole)
        self._make_folder(os.path.dirname(whole))
        if os.path.islink(shadow):  # it stands for a file of the user's
            origin = _readlink(shadow)
            _unlink(shadow)
            if keep:
                shutil.copyfile(origin, shadow)
        elif keep and not _there(shadow) and not self.is_gone(whole) and _is_file(whole):
            shutil.copyfile(whole, shadow)
        return shadow

    def making(self, path: Any) -> str:
        """Return where a new folder or link is made. Raises OSError as the file system would."""
        whole = self.whole(path)
        if self.status(whole) is not None:
            raise _error(errno.EEXIST, path)
        self.check(whole, path)
        self._make_folder(os.path.dirname(whole))
        return self.shadow(whole)

    def check(self, whole: str, path: Any) -> None:
        """Raise the OSError that the file system would if something were written to a place."""
        parent = self.status(os.path.dirname(whole))
        if parent is None:
            raise _error(errno.ENOENT, path)
        if not stat.S_ISDIR(parent.st_mode):
            raise _error(errno.ENOTDIR, path)
        if not _there(self.shadow(whole)):
            _check_permission(whole if _there(whole) and not self.is_gone(whole) else os.path.dirname(whole), path)

    def take_up(self, path: Any) -> str:
        """Return the shadow of something that is about to be moved or changed, which the user's own is not.

        Files of the user's are stood for by links, which `writing` turns into copies.
        """
        whole = self.whole(path)
        shadow = self.shadow(whole)
        if not _there(shadow) and not self.is_gone(whole) and _there(whole):
            self._make_folder(os.path.dirname(whole))
            if stat.S_ISDIR(_lstat(whole).st_mode):
                shutil.copytree(whole, shadow, symlinks=True, copy_function=os.symlink)
            else:
                os.symlink(whole, shadow)
        return shadow

    def names(self, path: Any) -> list[str]:
        """Return the names that the script finds in a folder. Raises OSError if it finds no folder."""
        whole = self.whole(path)
        shadow = self.shadow(whole)
        if not self.alters(whole):
            return _listdir(whole)
        if self.is_gone(whole):
            if not _there(shadow):
                raise _error(errno.ENOENT, path)
            return _listdir(shadow)
        if not _there(shadow):
            return self._remaining(whole)
        own = _listdir(shadow)
        return list(dict.fromkeys([*own, *self._remaining(whole)])) if _there(whole) else own

    def _remaining(self, whole: str) -> list[str]:
        """Return the names in a folder of the user's that were not deleted."""
        return [name for name in _listdir(whole) if f"{whole}/{name}".replace("//", "/") not in self._gone]

    def alters(self, whole: str) -> bool:
        """True if the script may see other contents in a folder than the disk has."""
        return self._holds_something() and self.guards(whole) and (_there(self.shadow(whole)) or bool(self._gone))

    def _holds_something(self) -> bool:
        """True if there are shadows; a trainer, too, writes to them as its own folder."""
        if not self._in_use:
            self._in_use = _there(self._inside) and bool(_listdir(self._inside))
        return self._in_use

    def _make_folder(self, whole: str) -> None:
        self._in_use = True
        missing = []
        shadow = self.shadow(whole)
        while not _there(shadow):
            missing.append(shadow)
            shadow = os.path.dirname(shadow)
        for folder in reversed(missing):
            _mkdir(folder)


def _check_permission(place: str, path: Any) -> None:
    """Raise the OSError of a file or folder of the user's that may not be written to."""
    if _there(place) and not _access(place, os.W_OK, effective_ids=_BY_EFFECTIVE_USER):
        raise _error(errno.EROFS if _statvfs(place).f_flag & os.ST_RDONLY else errno.EACCES, path)


def _closed(folder: str) -> str:
    return folder.rstrip("/") + "/"


def _longest(zone: tuple[str, bool]) -> int:
    return -len(zone[0])


def _there(path: str) -> bool:
    try:
        _lstat(path)
    except OSError:
        return False
    return True


def _is_file(path: str) -> bool:
    return stat.S_ISREG(_stat(path).st_mode) if _there(path) else False


def _upwards(whole: str) -> Iterator[str]:
    while whole not in ("/", ""):
        yield whole
        whole = os.path.dirname(whole)


def _error(number: int, path: Any) -> OSError:
    return OSError(number, os.strerror(number), path)
