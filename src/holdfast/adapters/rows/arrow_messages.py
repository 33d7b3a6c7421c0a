"""The messages of an Arrow stream or file, with the standard library alone: where each begins, how long it is, what it is.

A stream is messages one after another; a file is the same between two magic numbers, with a footer that nobody needs.
Source: the Arrow columnar format 1.5, "Encapsulated message format", and `ArrowMessage.fbs`, `Schema.fbs`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from holdfast.adapters.foreign_files import open_foreign
from holdfast.adapters.rows.names import BadDataError
from holdfast.adapters.rows.types import JSON, OTHER, types_in_metadata, with_declared
from holdfast.core.rows.columns import ListOf, Scalar, ScalarName, Struct, Type
from holdfast.core.text.json_text import DEEPEST

MAGIC: Final = b"ARROW1"
FILE_HEAD_BYTES: Final = 8
CONTINUES: Final = b"\xff\xff\xff\xff"
END: Final = CONTINUES + bytes(4)
SCHEMA, DICTIONARY, BATCH = 1, 2, 3
# Fields of the tables in Message.fbs and Schema.fbs, by number.
HEADER_TYPE, HEADER, BODY_LENGTH = 1, 2, 3
FIELDS, SCHEMA_METADATA = 1, 2
DICTIONARY_DATA, BUFFERS, COMPRESSION = 1, 2, 3
LENGTH_BYTES: Final = 8
NAME, KIND, CHILDREN, FIELD_METADATA = 0, 2, 5, 6
KIND_STRUCT: Final = 13
KIND_LISTS: Final = (12, 16, 21, 25, 26)
KINDS: Final[Mapping[int, ScalarName]] = {
    1: "null", 2: "integer", 3: "float", 4: "binary", 5: "string", 6: "boolean", 7: "float", 8: "time", 9: "time",
    10: "time", 11: "time", 15: "binary", 18: "time", 19: "binary", 20: "string", 23: "binary", 24: "string",
}  # fmt: skip
FOOTER_BLOCKS: Final = (2, 3)
"""Dictionaries and record batches, in the table of File.fbs."""
BLOCK_BYTES: Final = 24
LENGTH_OF_FOOTER: Final = 4
SHORTEST_METADATA: Final = 16
"""No message's metadata is as short."""
MOST_FIELDS: Final = 100_000
# No schema and no list of buffers is longer.
LARGEST_METADATA: Final = 1 << 26


@dataclass(frozen=True, slots=True)
class ArrowMessage:
    """One message.

    Attributes:
        kind: Schema, dictionary or batch of rows.
        metadata: What it says of itself, a flatbuffer.
        start: Where it begins in the file.
        length: Of all of it, in bytes.
        body: Where its data begin in the file.
    """

    kind: int
    metadata: bytes
    start: int
    length: int
    body: int

    def head(self) -> bytes:
        """Return the bytes that precede the body in a stream: the mark, the length of the metadata, and the metadata, padded to 8 bytes."""
        metadata = self.metadata + bytes(-len(self.metadata) % LENGTH_BYTES)
        return CONTINUES + len(metadata).to_bytes(4, "little") + metadata


def messages(file: IO[bytes], path: Path) -> Iterator[ArrowMessage]:
    """Yield the messages of a file.

    Raises:
        BadDataError: It is no Arrow, or was cut off.
    """
    size = file.seek(0, 2)
    file.seek(0)
    at = FILE_HEAD_BYTES if file.read(len(MAGIC)) == MAGIC else 0
    if at and (schema := _bare_schema(file, path, size)):
        yield schema
        at = schema.body
    while at < size and (message := _next_message(file, path, at, size)):
        yield message
        at += message.length


def _next_message(file: IO[bytes], path: Path, at: int, size: int) -> ArrowMessage | None:
    """Return the message that begins at a place; None where the mark of the end stands, which has no length."""
    file.seek(at)
    before, length = _prefix(file.read(FILE_HEAD_BYTES))
    if not length:
        return None
    if not 0 < length <= LARGEST_METADATA:
        raise BadDataError(f"{path} is not an Arrow file, or is damaged {_at(at)}", path)
    file.seek(at + before)
    message = _message(file.read(length), path, at, at + before + length)
    if message.start + message.length > size:
        raise BadDataError(f"{path} is cut off: a part {_at(at)} is longer than what is there", path)
    return message


def _prefix(head: bytes) -> tuple[int, int]:
    """Return how many bytes stand before a message's metadata, and how many the metadata are."""
    if head.startswith(CONTINUES):
        return FILE_HEAD_BYTES, int.from_bytes(head[4:], "little", signed=True)
    return 4, int.from_bytes(head[:4], "little", signed=True)  # before Arrow 0.15 there was no such mark


def _bare_schema(file: IO[bytes], path: Path, size: int) -> ArrowMessage | None:
    """Return the schema of a file in which it stands without its length, as polars 2.1 writes it; None elsewhere.

    It ends where the first block begins that the footer names.
    """
    file.seek(FILE_HEAD_BYTES)
    head = file.read(len(CONTINUES))
    if head == CONTINUES or int.from_bytes(head, "little") > SHORTEST_METADATA:
        return None
    tail = max(0, size - len(MAGIC) - LENGTH_OF_FOOTER)
    try:
        file.seek(tail)
        file.seek(max(0, tail - int.from_bytes(file.read(LENGTH_OF_FOOTER), "little")))
        footer = FlatbufferTable.root(file.read(min(tail, LARGEST_METADATA)))
        blocks = [start for number in FOOTER_BLOCKS for start, _ in footer.pairs(number, BLOCK_BYTES)]
    except (IndexError, ValueError) as error:
        raise BadDataError(f"{path} is not an Arrow file, or is cut off: its footer is not whole", path) from error
    end = max(FILE_HEAD_BYTES, min(blocks, default=size))
    file.seek(FILE_HEAD_BYTES)
    return _message(file.read(min(end, LARGEST_METADATA) - FILE_HEAD_BYTES), path, FILE_HEAD_BYTES, end)


def unpacked_bytes(file: IO[bytes], message: ArrowMessage, path: Path) -> int:
    """Return how large a message's data are in memory; a compressed buffer begins with its length.

    Raises:
        BadDataError: The message is damaged.
    """
    try:
        batch = FlatbufferTable.root(message.metadata).table(HEADER)
        batch = batch.table(DICTIONARY_DATA) if message.kind == DICTIONARY else batch
        if not batch.has(COMPRESSION):
            return message.length
        return sum(_unpacked(file, message.body + start, length) for start, length in batch.pairs(BUFFERS))
    except (IndexError, OverflowError, ValueError, OSError) as error:  # no file is as long as a damaged place says
        raise BadDataError(f"{path} is damaged {_at(message.start)}", path) from error


def _unpacked(file: IO[bytes], start: int, length: int) -> int:
    """Return the length of a compressed buffer when it is unpacked; -1 is written where it is not compressed."""
    file.seek(start)
    length_after_marker = int.from_bytes(file.read(LENGTH_BYTES), "little", signed=True) if length else 0
    return length if length_after_marker < 0 else length_after_marker


def read_schema(path: Path) -> tuple[ArrowMessage, dict[str, Type]]:
    """Return the first message of a file, its schema, and the types of columns that it tells.

    Raises:
        BadDataError: It is no Arrow.
    """
    try:
        with open_foreign(path) as file:
            first = next(messages(file, path), None)
            if first is None or first.kind != SCHEMA:
                raise BadDataError(f"{path} is not an Arrow file: it does not begin with a schema", path)
            return first, columns_of(first.metadata)
    except OSError as error:
        raise BadDataError(f"{path} cannot be read: {error.strerror or error}", path) from error
    except ValueError as error:
        raise BadDataError(f"{path} is not an Arrow file: {error}", path) from error


def _at(place: int) -> str:
    return f"at byte {place:,}"


def _message(metadata: bytes, path: Path, start: int, body: int) -> ArrowMessage:
    try:
        root = FlatbufferTable.root(metadata)
        length = root.integer(BODY_LENGTH, 8)
        kind = root.integer(HEADER_TYPE, 1)
    except IndexError as error:
        raise BadDataError(f"{path} is not an Arrow file, or is damaged {_at(start)}", path) from error
    if length < 0:
        raise BadDataError(f"{path} is damaged {_at(start)}", path)
    return ArrowMessage(kind, metadata, start, body - start + length, body)


def columns_of(schema: bytes) -> dict[str, Type]:
    """Return the types of columns that a schema's message tells, as `datasets` would take them.

    Raises:
        ValueError: It is damaged.
    """
    try:
        header = FlatbufferTable.root(schema).table(HEADER)
        budget = iter(range(MOST_FIELDS))
        found = dict(_column(part, 0, budget) for part in header.tables(FIELDS))
        metadata = {pair.text(0): pair.text(1) for pair in header.tables(SCHEMA_METADATA)}
    except IndexError as error:
        raise ValueError("the schema is damaged") from error
    return with_declared(found, types_in_metadata(metadata.get(b"huggingface")))


def _column(part: "FlatbufferTable", depth: int, budget: Iterator[int]) -> tuple[str, Type]:
    """Return the name and the type of a field, a part of another one or a column.

    A damaged schema may name one field as the part of many, or of itself.
    """
    if depth > DEEPEST or next(budget, None) is None:
        raise IndexError(depth)
    name, kind = part.text(NAME).decode(errors="replace"), part.integer(KIND, 1)
    parts = dict(_column(child, depth + 1, budget) for child in part.tables(CHILDREN))
    extension = {pair.text(0): pair.text(1) for pair in part.tables(FIELD_METADATA)}.get(b"ARROW:extension:name")
    if extension == b"arrow.json":
        return name, JSON
    if kind == KIND_STRUCT:
        return name, Struct(parts)
    if kind in KIND_LISTS:
        return name, ListOf(next(iter(parts.values()), OTHER))
    return name, Scalar(KINDS.get(kind, "other"))


@dataclass(frozen=True, slots=True)
class FlatbufferTable:
    """A table of a flatbuffer: fields by number, each of which may be missing.

    Reading past the end raises IndexError.
    """

    data: bytes
    at: int

    @classmethod
    def root(cls, data: bytes) -> "FlatbufferTable":
        """Return the outermost table."""
        return cls(data, _unsigned(data, 0, 4))

    def integer(self, number: int, size: int) -> int:
        """Return a signed integer of `size` bytes; 0 if it is missing."""
        place = self._place(number)
        return int.from_bytes(_bytes(self.data, place, size), "little", signed=True) if place else 0

    def table(self, number: int) -> "FlatbufferTable":
        """Return a table within this one. Raises IndexError where it is missing."""
        return FlatbufferTable(self.data, self._target(number))

    def tables(self, number: int) -> "list[FlatbufferTable]":
        """Return a list of tables; none if it is missing."""
        if not self._place(number):
            return []
        start = self._target(number)
        count = min(_unsigned(self.data, start, 4), len(self.data))
        places = (start + 4 + 4 * index for index in range(count))
        return [FlatbufferTable(self.data, place + _unsigned(self.data, place, 4)) for place in places]

    def has(self, number: int) -> bool:
        """True if a field is there."""
        return bool(self._place(number))

    def pairs(self, number: int, size: int = 16) -> list[tuple[int, int]]:
        """Return the first two 8-byte integers of each struct of `size` bytes in a list; an empty list if the field is missing."""
        if not self._place(number):
            return []
        start = self._target(number)
        count = min(_unsigned(self.data, start, 4), len(self.data))
        places = (start + 4 + size * index for index in range(count))
        return [(_unsigned(self.data, place, 8), _unsigned(self.data, place + 8, 8)) for place in places]

    def text(self, number: int) -> bytes:
        """Return a text; an empty one where it is missing."""
        if not self._place(number):
            return b""
        start = self._target(number)
        return _bytes(self.data, start + 4, _unsigned(self.data, start, 4))

    def _target(self, number: int) -> int:
        place = self._place(number)
        if not place:
            raise IndexError(number)
        return place + _unsigned(self.data, place, 4)

    def _place(self, number: int) -> int:
        """Return where a field stands; 0 if it is missing."""
        fields = self.at - int.from_bytes(_bytes(self.data, self.at, 4), "little", signed=True)
        entry = 4 + 2 * number
        if entry >= _unsigned(self.data, fields, 2):
            return 0
        offset = _unsigned(self.data, fields + entry, 2)
        return self.at + offset if offset else 0


def _unsigned(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(_bytes(data, at, size), "little")


def _bytes(data: bytes, at: int, size: int) -> bytes:
    if at < 0 or at + size > len(data):
        raise IndexError(at)
    return data[at : at + size]
