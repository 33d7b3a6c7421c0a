"""The metadata of GGUF files: keys with values at the beginning of a file.

Source: the description of the format in llama.cpp (gguf-py/gguf/constants.py and gguf_reader.py of llama-cpp-python 0.3.36).
Covered: versions 2 and 3, little-endian. Not covered: arrays, which are skipped; the tensors behind the metadata.
"""

import mmap
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import open_foreign
from holdfast.core.errors import SourceError

MAGIC: Final = b"GGUF"
VERSIONS: Final = (2, 3)
SCALARS: Final[Mapping[int, str]] = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
"""The types of single values, as `struct` writes them."""
TEXT: Final = 8
ARRAY: Final = 9
MetadataValue = str | int | float | bool


def read_gguf_metadata(path: Path) -> dict[str, MetadataValue]:
    """Return the metadata of a GGUF file, without its arrays.

    Raises:
        SourceError: It is no GGUF file, it is cut short, or it cannot be read.
    """
    try:
        with open_foreign(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _GgufReader(content).metadata()
    except OSError as error:
        raise SourceError(
            f"{path.name} cannot be read: {error.strerror}", where=str(path), fix="check its permissions"
        ) from error
    except ValueError as error:
        what = f"{path.name} is not a whole GGUF file: {error}"
        raise SourceError(what, where=str(path), fix="export or download it again") from error


class _GgufReader:
    """Reads one value after the other."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content, self._at = content, 0

    def metadata(self) -> dict[str, MetadataValue]:
        """Return the keys with their values.

        Raises:
            ValueError: The file has another format, or ends too early.
        """
        if self._content[: len(MAGIC)] != MAGIC:
            raise ValueError("it does not begin with `GGUF`")
        self._at = len(MAGIC)
        version = self._number("I")
        if version not in VERSIONS:
            raise ValueError(f"its version is {version}, and not 2 or 3")
        self._number("Q")  # how many tensors there are
        found: dict[str, MetadataValue] = {}
        for _ in range(int(self._number("Q"))):
            key, kind = self._text(), int(self._number("I"))
            if kind == ARRAY:
                self._skip_array()
            else:
                found[key] = self._value(kind)
        return found

    def _value(self, kind: int) -> MetadataValue:
        if kind == TEXT:
            return self._text()
        if kind not in SCALARS:
            raise ValueError(f"a value of type {kind}")
        return self._number(SCALARS[kind])

    def _number(self, form: str) -> MetadataValue:
        size = struct.calcsize(f"<{form}")
        value: MetadataValue
        (value,) = struct.unpack(f"<{form}", self._bytes(size))
        return value

    def _bytes(self, size: int) -> bytes:
        part = self._content[self._at : self._at + size]
        if len(part) < size:
            raise ValueError("it ends too early")
        self._at += size
        return part

    def _text(self) -> str:
        return self._bytes(int(self._number("Q"))).decode("utf-8", errors="replace")

    def _skip_array(self) -> None:
        kind, count = int(self._number("I")), int(self._number("Q"))
        if kind in SCALARS:
            self._at += count * struct.calcsize(f"<{SCALARS[kind]}")
        elif kind == TEXT:
            for _ in range(count):
                size = int(self._number("Q"))
                self._at += size
        else:
            raise ValueError(f"an array of type {kind}")
