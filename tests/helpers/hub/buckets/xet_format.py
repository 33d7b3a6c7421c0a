"""The formats of Xet that travel: xorbs (chunks, each with a header) and shards (of which chunks a file consists).

Source: the Xet protocol's specification, https://huggingface.co/docs/xet (pages `xorb`, `shard`, `api`), and the LZ4 frame format,
https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md. hf_xet 1.8.0 writes what is read here. Hashes are not checked.
"""

import struct
from dataclasses import dataclass

CHUNK = 64 * 1024  # bytes of a chunk of the xorbs that are made here
HEADER = 8
NO_COMPRESSION, LZ4, GROUPED_LZ4 = 0, 1, 2
ENTRY = 48
WITH_VERIFICATION, WITH_METADATA = 1 << 31, 1 << 30


@dataclass(frozen=True, slots=True)
class Term:
    """Chunks of a xorb, which are a part of a file. `end` is the first that is not."""

    xorb: str
    start: int
    end: int


def read_xorb(content: bytes) -> list[bytes]:
    """Return the chunks of a xorb, unpacked."""
    chunks, at = [], 0
    while at + HEADER <= len(content) and content[at] == 0:
        packed = int.from_bytes(content[at + 1 : at + 4], "little")
        scheme, size = content[at + 4], int.from_bytes(content[at + 5 : at + 8], "little")
        at += HEADER
        chunks.append(_unpack(content[at : at + packed], scheme)[:size])
        at += packed
    return chunks


def write_xorb(content: bytes) -> bytes:
    """Return a xorb that holds content, unpacked, in chunks of `CHUNK` bytes."""
    parts = [content[at : at + CHUNK] for at in range(0, len(content), CHUNK)]
    return b"".join(bytes([0]) + _u24(part) + bytes([NO_COMPRESSION]) + _u24(part) + part for part in parts)


def read_shard(content: bytes) -> dict[str, list[Term]]:
    """Return the terms of each file of a shard, by the file's hash."""
    files: dict[str, list[Term]] = {}
    at = ENTRY
    while content[at : at + 32] != b"\xff" * 32:
        flags, count = struct.unpack_from("<II", content, at + 32)
        file = hash_text(content[at : at + 32])
        at += ENTRY
        entries = [content[at + ENTRY * i : at + ENTRY * (i + 1)] for i in range(count)]
        files[file] = [Term(hash_text(one[:32]), *struct.unpack_from("<II", one, 40)) for one in entries]
        at += ENTRY * (count * (2 if flags & WITH_VERIFICATION else 1) + bool(flags & WITH_METADATA))
    return files


def hash_text(raw: bytes) -> str:
    """Return a hash as addresses have it: four little-endian numbers of 16 digits."""
    return "".join(f"{number:016x}" for number in struct.unpack("<4Q", raw))


def _u24(part: bytes) -> bytes:
    return len(part).to_bytes(3, "little")


def _unpack(packed: bytes, scheme: int) -> bytes:
    if scheme == NO_COMPRESSION:
        return packed
    plain = lz4_frame(packed)
    return _ungroup(plain) if scheme == GROUPED_LZ4 else plain


def _ungroup(grouped: bytes) -> bytes:
    """Undo the sorting of bytes by their place in words of four."""
    size, rest = divmod(len(grouped), 4)
    plain, at = bytearray(len(grouped)), 0
    for place in range(4):
        length = size + (place < rest)
        plain[place::4] = grouped[at : at + length]
        at += length
    return bytes(plain)


def lz4_frame(packed: bytes) -> bytes:
    """Unpack an LZ4 frame; checksums are skipped."""
    flags = packed[4]
    at = 7 + (8 if flags & 8 else 0) + (4 if flags & 1 else 0)
    plain = bytearray()
    while size := int.from_bytes(packed[at : at + 4], "little"):
        at += 4
        length = size & 0x7FFFFFFF
        block = packed[at : at + length]
        if size >> 31:
            plain += block
        else:
            _lz4_block(block, plain)
        at += length + (4 if flags & 16 else 0)
    return bytes(plain)


def _lz4_block(block: bytes, plain: bytearray) -> None:
    at = 0
    while at < len(block):
        token = block[at]
        literals, at = _length(block, at + 1, token >> 4)
        plain += block[at : at + literals]
        at += literals
        if at >= len(block):
            return
        back = int.from_bytes(block[at : at + 2], "little")
        length, at = _length(block, at + 2, token & 15)
        length += 4
        start = len(plain) - back
        pattern = bytes(plain[start : start + length])
        plain += (pattern * (length // len(pattern) + 1))[:length]


def _length(block: bytes, at: int, length: int) -> tuple[int, int]:
    if length == 15:
        more = 255
        while more == 255:
            more = block[at]
            length, at = length + more, at + 1
    return length, at
