"""Weights in safetensors files: their names, types and shapes, out of the header alone.

Source: the format's description in the safetensors package 0.8: 8 bytes with the header's length, a JSON header, and tensors
without gaps up to the end of the file. Tried: it refuses every damage that is reported here, too.
"""

from dataclasses import dataclass
from io import SEEK_END
from math import prod
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.foreign_files import open_foreign
from holdfast.adapters.local.model_files import LFS, describe_damage
from holdfast.core.errors import SourceError
from holdfast.core.text.json_text import parse_json

LENGTH_BYTES: Final = 8
"""The header's length stands in the first of a file, a little-endian integer."""
LONGEST_HEADER: Final = 100_000_000
"""In bytes; safetensors reads no longer one."""
START: Final = 200
"""So many bytes show what a file is that is no safetensors file."""
METADATA: Final = "__metadata__"


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of a file.

    Attributes:
        dtype: As safetensors spells it: `BF16`.
        count: How many numbers it holds.
        end: Where it ends, in bytes after the header.
    """

    dtype: str
    count: int
    end: int


def read_tensor_header(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file by name.

    Raises:
        SourceError: It is no safetensors file, it is cut short, or it cannot be read.
    """
    try:
        with open_foreign(path) as file:
            size = file.seek(0, SEEK_END)
            file.seek(0)
            start = file.read(START)
            length = int.from_bytes(start[:LENGTH_BYTES], "little")
            if size < LENGTH_BYTES or length > LONGEST_HEADER or start.startswith(LFS.encode()):
                raise _damaged(path, start)
            file.seek(LENGTH_BYTES)
            header = file.read(length)
    except OSError as error:
        raise SourceError(f"{path.name} cannot be read: {error.strerror}", where=str(path), fix="look at it") from error
    try:
        tensors = parse_header(header)
    except ValueError as error:
        raise _damaged(path, start) from error
    whole = LENGTH_BYTES + length + max((tensor.end for tensor in tensors.values()), default=0)
    if size != whole:
        how = "truncated" if size < whole else "too long"
        raise SourceError(f"{path.name} is {how}: {size} of {whole} bytes", where=str(path), fix="fetch it again")
    return tensors


def parse_header(header: bytes) -> dict[str, Tensor]:
    """Return the tensors that a header tells of, by name.

    Args:
        header: The JSON behind its length.

    Raises:
        ValueError: It is none.
    """
    try:
        found = parse_json(header)
        return {name: _tensor(entry) for name, entry in found.items() if name != METADATA}
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError("no header of a safetensors file") from error


def _tensor(record: dict[str, Any]) -> Tensor:
    shape = [int(size) for size in record["shape"]]
    if min(shape, default=0) < 0:
        raise ValueError(shape)
    return Tensor(dtype=str(record["dtype"]), count=prod(shape), end=int(record["data_offsets"][1]))


def _damaged(path: Path, start: bytes) -> SourceError:
    what = describe_damage(path.name, start.decode("utf-8", "replace"), "has no header of a safetensors file")
    return SourceError(what, where=str(path), fix="fetch it again from where it came from")
