"""What was found in files before, kept on disk: an unchanged file need not be checked again.

An entry holds for one file, named so, with one set of options. It counts as long as everything that it was made from is
the same: holdfast with its rules and its catalog, the file, the modules beside it, and the requirements that it has.
What is no entry, for whatever reason, is none: then the file is checked.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Final

from msgspec import DecodeError, Struct, to_builtins
from msgspec import json as typed_json

from holdfast.adapters.declared.installed import ENVIRONMENTS
from holdfast.adapters.foreign_files import read_foreign
from holdfast.adapters.secrets import redacted_parts
from holdfast.adapters.storage.private_files import write_private
from holdfast.results.check import TargetResult

FOLDER: Final = ".holdfast_cache"
PACKAGE: Final = Path(str(files("holdfast")))
DECLARATIONS: Final = re.compile(
    r"pyproject\.toml|pylock\.toml|.*\.lock|.*requirements.*\.(?:txt|in)|.*constraints.*\.txt|setup\.(?:py|cfg)|Pipfile"
    r"|environment\.ya?ml|(?:.*\.)?(?:Docker|Container)file.*|\.python-version"
)
"""Names of the files in which requirements can stand: rather too many than too few."""
INCLUDE: Final = re.compile(rb"^[ \t]*(?:-[rc]|--requirement|--constraint)[ \t=]*(\S+)", re.MULTILINE)
"""A line of a requirements file that takes in another."""


def user_cache(environ: Mapping[str, str]) -> Path:
    """Return holdfast's folder in the user's cache.

    >>> str(user_cache({"XDG_CACHE_HOME": "/c"}))
    '/c/holdfast'
    """
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "holdfast")


def cache_folder(project: Path | None, environ: Mapping[str, str]) -> Path:
    """Return where entries are kept: beside a project's file, else where the user's caches are.

    >>> str(cache_folder(None, {"XDG_CACHE_HOME": "/c"})), str(cache_folder(Path("/p"), {}))
    ('/c/holdfast/check', '/p/.holdfast_cache')
    """
    if project:
        return project / FOLDER
    return user_cache(environ) / "check"


@cache
def holdfast_stamp() -> str:
    """Return a digest of this holdfast: its files, those of rules and catalog among them, and the Python version."""
    return digest(json.dumps([sys.version, *package_stats(PACKAGE)]))


def package_stats(package: Path) -> Iterator[tuple[str, int, int]]:
    """Yield name, size and time of change of every file of a package."""
    for path in sorted(package.rglob("*")):
        if path.suffix != ".pyc" and path.is_file():
            stat = path.stat()
            yield str(path.relative_to(package)), stat.st_size, stat.st_mtime_ns


def digest(*texts: str | None) -> str:
    """Return a digest of some texts in this order.

    >>> digest("a", "bc") == digest("ab", "c"), digest(None) == digest("")
    (False, False)
    """
    return sha256(json.dumps(texts).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """Return a digest of a file's content.

    Raises:
        OSError: It cannot be read.
    """
    return sha256(read_foreign(path)).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheBasis:
    """What an entry is made from.

    Attributes:
        name: The file, as it was named, and the options.
        content: Digest of the file, of what it requires, and of holdfast.
        read_module: Gives the text of a module beside the file, None if there is none.
    """

    name: str
    content: str
    read_module: Callable[[str], str | None]


class CacheEntry(Struct, frozen=True, kw_only=True):
    """An entry.

    Attributes:
        content: Digest of what it was made from, as `CacheBasis.content`.
        modules: Digests of the modules that were looked for with the file, by name.
        found: What was found.
    """

    content: str
    modules: Mapping[str, str]
    found: TargetResult


class CheckCache:
    """Entries in a folder, each in a file of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, basis: CacheBasis) -> TargetResult | None:
        """Return the cached result, or None if there is none or it is out of date."""
        try:
            checksum, _, body = self._path(basis).read_text(encoding="utf-8").partition("\n")
            entry = typed_json.decode(body, type=CacheEntry) if checksum == digest(body) else None
        except (OSError, UnicodeDecodeError, DecodeError):
            return None
        if entry is None or entry.content != basis.content:
            return None
        if any(digest(basis.read_module(name)) != expected for name, expected in entry.modules.items()):
            return None
        return entry.found

    def save(self, basis: CacheBasis, result: TargetResult, modules: Iterable[str]) -> None:
        """Keep what was found; where that cannot be written, it is not kept.

        Args:
            basis: What it was made from.
            result: What was found.
            modules: Names of the modules that were looked for with the file.
        """
        digests = {name: digest(basis.read_module(name)) for name in sorted(modules)}
        entry = CacheEntry(content=basis.content, modules=digests, found=result)
        body = json.dumps(redacted_parts(to_builtins(entry)))
        with suppress(OSError):
            self._make_folder()
            write_private(self._path(basis), f"{digest(body)}\n{body}")

    def _path(self, basis: CacheBasis) -> Path:
        return self._folder / f"{digest(basis.name)[:40]}.json"

    def _make_folder(self) -> None:
        """Make the folder, and have git ignore it."""
        if not (self._folder / ".gitignore").exists():
            write_private(self._folder / ".gitignore", "*\n")


class CheckEnvironment:
    """What an answer rests on beside the file itself: holdfast, the libraries at hand, and what is declared near it."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        at_hand = filter(None, [sys.prefix, environ.get("VIRTUAL_ENV"), environ.get("CONDA_PREFIX")])
        self._everywhere = digest(holdfast_stamp(), *(name for root in at_hand for name in _installed(Path(root))))
        self._near: dict[Path, str] = {}

    def stamp(self, folder: Path) -> str:
        """Return a digest of the surroundings of the files in a folder."""
        if folder not in self._near:
            above = self._everywhere if _is_top(folder) else self.stamp(folder.parent)
            installed = (name for own in ENVIRONMENTS for name in _installed(folder / own))
            self._near[folder] = digest(above, *_declared(folder), "-", *installed)
        return self._near[folder]


def _is_top(folder: Path) -> bool:
    return folder.parent == folder or (folder / ".git").exists()


def _declared(folder: Path) -> Iterator[str]:
    """Yield the names and contents of the files of a folder in which requirements can stand, and of those they take in."""
    todo = sorted(path for path in _listed(folder) if DECLARATIONS.fullmatch(path.name))
    todo += sorted(_listed(folder / "requirements"))
    seen: set[Path] = set()
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        with suppress(OSError):
            content = read_foreign(path)
            yield f"{path} {sha256(content).hexdigest()}"
            todo += [path.parent / name.decode(errors="replace") for name in INCLUDE.findall(content)]


def _installed(root: Path) -> Iterator[str]:
    """Yield the names and versions of what is installed in an environment."""
    for packages in sorted([*root.glob("lib/python*/site-packages"), *root.glob("Lib/site-packages")]):
        yield str(packages)
        yield from sorted(path.name for path in _listed(packages) if path.suffix in (".dist-info", ".egg-info"))


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
