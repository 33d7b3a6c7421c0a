"""Bytes of GGUF files, written by hand."""

import struct
from collections.abc import Mapping, Sequence


def gguf_bytes(metadata: Mapping[str, bytes], tensors: int = 0) -> bytes:
    """A file with metadata alone; each value is written with its type before it."""
    pairs = b"".join(_counted(key) + value for key, value in metadata.items())
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, len(metadata)) + pairs


def text(value: str) -> bytes:
    return struct.pack("<I", 8) + _counted(value)


def number(kind: int, form: str, value: float) -> bytes:
    return struct.pack(f"<I{form}", kind, value)


def array_of_texts(values: Sequence[str]) -> bytes:
    return struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(_counted, values))


def _counted(value: str) -> bytes:
    given = value.encode()
    return struct.pack("<Q", len(given)) + given
