"""Data files as streams of bytes, compressed or not; what is wrong with an archive ends the stream and is kept."""

import bz2
import gzip
import lzma
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.foreign_files import open_foreign
from holdfast.adapters.rows.names import BadDataError
from holdfast.adapters.rows.pieces import LARGEST_LINE_BYTES
from holdfast.core.errors import SourceError, Spot

# Beginnings by which `datasets` knows archives, whatever their names say. Source: `datasets.utils.extract`, 5.2.
GZIP: Final = b"\x1f\x8b"
BZIP2: Final = b"BZh"
XZ: Final = b"\xfd\x37\x7a\x58\x5a\x00"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
LFS: Final = b"version https://git-lfs.github.com/spec/"
# What an archive gives at once: what it has when it turns out to be cut off is lost.
STEP_BYTES: Final = 1 << 16


class ByteSource:
    """Bytes of a data file.

    Attributes:
        problem: Why they end where they do, if that is not the end of the file.
    """

    def __init__(self, file: Any) -> None:
        """Take a binary file that is open."""
        self._file = file
        self._ahead = b""
        self.problem = ""

    def read(self, size: int) -> bytes:
        """Return that many bytes; fewer only at the end."""
        parts, left = [self._ahead[:size]], size - len(self._ahead)
        self._ahead = self._ahead[size:]
        while left > 0 and (part := self._step(min(left, STEP_BYTES))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def chunk(self, size: int) -> bytes:
        """Return that many bytes and the rest of the line; of a line that is too long, only its beginning."""
        return self.finish(self.read(size))

    def finish(self, chunk: bytes) -> bytes:
        """Return a chunk completed to the end of its last line."""
        if not chunk or chunk.endswith(b"\n"):
            return chunk
        rest = self._rest_of_line(LARGEST_LINE_BYTES)
        if len(rest) < LARGEST_LINE_BYTES:
            return chunk + rest
        while rest and not rest.endswith(b"\n"):
            kept, rest = rest, self._rest_of_line(STEP_BYTES)
            chunk += kept if len(chunk) < LARGEST_LINE_BYTES else b""
        return chunk + b"\n"

    def _rest_of_line(self, limit: int) -> bytes:
        """Return the bytes up to the end of the line, or about `limit` of them."""
        parts, size = list[bytes](), 0
        while size < limit and (part := self.read(STEP_BYTES)):
            if end := part.find(b"\n") + 1:
                self._ahead = part[end:] + self._ahead
                part = part[:end]
            parts.append(part)
            size += len(part)
            if end:
                break
        return b"".join(parts)

    def _step(self, size: int) -> bytes:
        try:
            part: bytes = self._file.read(size)
        except EOFError:
            self.problem = "the archive is cut off"
        except (OSError, zlib.error, lzma.LZMAError) as error:
            self.problem = f"the archive is damaged, or the disk is ({error})"
        else:
            return part
        return b""


@contextmanager
def opened(path: Path) -> Iterator[ByteSource]:
    """Open a data file.

    Raises:
        BadDataError: It cannot be opened.
        SourceError: It is of a compression that cannot be read here.
    """
    try:
        file = open_bytes(path)
    except OSError as error:
        raise BadDataError(f"{path} cannot be read: {error.strerror or error}", path) from error
    with file:
        yield ByteSource(file)


def refuse_strangers(path: Path, *, written: bool) -> None:
    """Object to a file that begins like one of the few that are taken for data by mistake.

    Args:
        path: The file; one that cannot be opened is left to its reader.
        written: Whether it should hold text.

    Raises:
        BadDataError: It is a pointer of Git LFS, or text as UTF-16, which `datasets` takes for UTF-8.
    """
    try:
        with open_foreign(path) as file:
            beginning = file.read(len(LFS))
    except OSError:
        return
    if beginning == LFS:
        what = "is only a pointer to the data, which Git LFS has elsewhere: run `git lfs pull`, or download it from the Hub"
        raise BadDataError(f"{path} {what}", path)
    if written and beginning.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise BadDataError(
            f'{path} is UTF-16: `load_dataset` reads it with `encoding="utf-16"`; save it as UTF-8 for everything else',
            path,
        )


def open_bytes(path: Path) -> Any:
    """Open a data file for what is in it.

    Raises:
        BadDataError: Its name says that it is an archive, and it is none, or another.
        SourceError: It is of a compression that cannot be read here.
    """
    with open_foreign(path) as file:
        beginning = file.read(len(XZ))
    if not beginning.startswith(_NAMED.get(path.suffix, b"")):
        name = path.name.removesuffix(path.suffix)
        what = f"is not what its name says, a `{path.suffix}` archive: name it `{name}` if it is not compressed"
        raise BadDataError(f"{path} {what}", path)
    for mark, unpack in _ARCHIVES.items():
        if beginning.startswith(mark):
            return unpack(path)
    return open_foreign(path)


def _open_zstd(path: Path) -> Any:
    """Open a Zstandard archive with whatever knows it: Python from 3.14 on, or a package."""
    for name in ("compression.zstd", "zstandard"):
        try:
            return import_module(name).open(path, "rb")
        except ImportError:
            continue
    fix = "pip install zstandard"
    raise SourceError(f"`zstandard` is not installed, and {path.name} needs it", where=Spot(str(path)), fix=fix)


# What datasets unpacks by their names, too, whatever is in them; by these alone. Tried: datasets 5.2 refuses each that is none.
_NAMED: Final = {".gz": GZIP, ".bz2": BZIP2, ".xz": XZ}
_ARCHIVES: dict[bytes, Callable[[Path], Any]] = {
    GZIP: gzip.GzipFile,
    BZIP2: bz2.BZ2File,
    XZ: lzma.LZMAFile,
    ZSTD: _open_zstd,
}
