"""The footer of a Parquet file, with the standard library alone: columns, types, row groups, and what `datasets` wrote.

Covered: what holdfast asks of it. Not covered: encryption, and the pages, which polars reads.
Source: `parquet.thrift` of the Parquet format 2.11, and Thrift's compact protocol.
"""

import base64
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.foreign_files import open_foreign
from holdfast.adapters.rows.arrow_messages import CONTINUES, FILE_HEAD_BYTES, columns_of
from holdfast.adapters.rows.names import BadDataError
from holdfast.adapters.rows.types import OTHER, types_in_metadata, with_declared
from holdfast.core.rows.columns import ListOf, Scalar, ScalarName, Struct, Type
from holdfast.core.text.json_text import DEEPEST

MAGIC: Final = b"PAR1"
ENCRYPTED: Final = b"PARE"
# The magic number at both ends, and the footer's length before the last one.
TAIL_BYTES: Final = 8
# No footer that a trainer can use is larger.
LARGEST_BYTES: Final = 1 << 26
# Numbers, texts and structs in it: those of a thousand row groups of a hundred columns.
MOST_VALUES: Final = 4_000_000
# Bits of its largest numbers, rounded up to whole sevens.
MOST_BITS: Final = 70

# Thrift's compact protocol: types of fields.
LONG: Final = 0x0F  # a list's size that does not fit into half a byte
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

# Fields of parquet.thrift that are read, by number.
SCHEMA, NUM_ROWS, ROW_GROUPS, KEY_VALUES = 2, 3, 4, 5
TYPE, REPETITION, NAME, CHILDREN, CONVERTED, LOGICAL = 1, 3, 4, 5, 6, 10
GROUP_BYTES, GROUP_ROWS = 2, 3

PHYSICAL: Final[Sequence[ScalarName]] = ("boolean", "integer", "integer", "time", "float", "float", "binary", "binary")
REPEATED: Final = 2
LOGICAL_MAP, LOGICAL_LIST = 2, 3
CONVERTED_MAPS, CONVERTED_LIST = (1, 2), 3
# Logical types and the older converted ones, by number.
LOGICAL_TYPES: Final[Mapping[int, ScalarName]] = {
    1: "string", 4: "string", 5: "float", 6: "time", 7: "time", 8: "time", 10: "integer", 11: "null", 12: "json",
    13: "binary", 14: "string", 15: "float",
}  # fmt: skip
CONVERTED_TYPES: Final[Mapping[int, ScalarName]] = {
    0: "string", 4: "string", 5: "float", 6: "time", 7: "time", 8: "time", 9: "time", 10: "time", 19: "json",
    20: "binary", 21: "time",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RowGroup:
    """One row group.

    Attributes:
        rows: How many rows it has.
        bytes: How large it is when it is unpacked.
    """

    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Footer:
    """What the end of a Parquet file tells.

    Attributes:
        columns: Types of the columns, as `datasets` would take them.
        rows: How many rows there are.
        groups: The row groups, in order.
    """

    columns: Mapping[str, Type]
    rows: int
    groups: tuple[RowGroup, ...]


def read_footer(path: Path) -> Footer:
    """Return the metadata at the end of a Parquet file.

    Raises:
        BadDataError: It is not a Parquet file, or was cut off.
    """
    try:
        return _parse(_footer_bytes(path))
    except OSError as error:
        raise BadDataError(f"{path} cannot be read: {error.strerror or error}", path) from error
    except (LookupError, ValueError, struct.error, TypeError, AttributeError, RecursionError) as error:
        raise BadDataError(f"{path} is not a Parquet file: its footer is damaged", path) from error


def _footer_bytes(path: Path) -> bytes:
    with open_foreign(path) as file:
        beginning = file.read(len(MAGIC))
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL_BYTES))
        tail = file.read(TAIL_BYTES)
        if tail.endswith(ENCRYPTED):
            raise BadDataError(f"{path} is encrypted", path)
        if beginning != MAGIC:
            raise BadDataError(f"{path} is not a Parquet file: it does not begin with PAR1", path)
        if not tail.endswith(MAGIC):
            raise BadDataError(f"{path} is cut off: a Parquet file ends with its footer, and this one has none", path)
        length = int.from_bytes(tail[:4], "little")
        if length > min(size - TAIL_BYTES - len(MAGIC), LARGEST_BYTES):
            raise BadDataError(f"{path} is cut off: its footer says that there is more of it", path)
        file.seek(size - TAIL_BYTES - length)
        return file.read(length)


def _parse(data: bytes) -> Footer:
    fields = _Compact(data).struct()
    schema = list(reversed(fields[SCHEMA]))
    root = schema.pop()
    found = dict(_column(schema, 0) for _ in range(root.get(CHILDREN, 0)))
    values = {_text(pair[1]): pair.get(2) for pair in fields.get(KEY_VALUES, ())}
    groups = tuple(RowGroup(group[GROUP_ROWS], group.get(GROUP_BYTES, 0)) for group in fields[ROW_GROUPS])
    columns = with_declared(found, _types_of_arrow(values.get("ARROW:schema")))
    return Footer(with_declared(columns, types_in_metadata(values.get("huggingface"))), fields[NUM_ROWS], groups)


def _types_of_arrow(schema: bytes | None) -> Mapping[str, Type]:
    """Return the types that pyarrow left in a footer; none where another library wrote it."""
    try:
        data = base64.b64decode(schema or b"")
        begin = FILE_HEAD_BYTES if data.startswith(CONTINUES) else FILE_HEAD_BYTES // 2
        return columns_of(data[begin:]) if data else {}
    except ValueError:
        return {}


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


def _column(schema: list[dict[int, Any]], depth: int) -> tuple[str, Type]:
    """Take one column off the end of a schema: a tree, written depth first, whose order is turned round."""
    if depth > DEEPEST:
        raise ValueError(depth)
    element = schema.pop()
    name = _text(element[NAME])
    count = element.get(CHILDREN, 0)
    if not count:
        kind: Type = Scalar(_word(element))
    else:
        parts = dict(_column(schema, depth + 1) for _ in range(count))
        kind = _group(parts, element)
    return name, ListOf(kind) if element.get(REPETITION) == REPEATED else kind


def _group(parts: dict[str, Type], element: dict[int, Any]) -> Type:
    """Return the type of a group: of a list, what its repeated part holds; of a map, a list of pairs."""
    is_list = LOGICAL_LIST in element.get(LOGICAL, {}) or element.get(CONVERTED) == CONVERTED_LIST
    inner = next(iter(parts.values()))
    if not is_list or not isinstance(inner, ListOf):
        return next(iter(parts.values())) if _is_map(element) else Struct(parts)
    wrapped = inner.of
    single = isinstance(wrapped, Struct) and len(wrapped.fields) == 1 and next(iter(parts)) != "array"
    return ListOf(next(iter(wrapped.fields.values()))) if single and isinstance(wrapped, Struct) else inner


def _is_map(element: dict[int, Any]) -> bool:
    return LOGICAL_MAP in element.get(LOGICAL, {}) or element.get(CONVERTED) in CONVERTED_MAPS


def _word(element: dict[int, Any]) -> ScalarName:
    for logical in element.get(LOGICAL, {}):
        return LOGICAL_TYPES.get(logical, "other")
    if (converted := CONVERTED_TYPES.get(element.get(CONVERTED, -1))) is not None:
        return converted
    return PHYSICAL[element[TYPE]] if TYPE in element else OTHER.word


class _Compact:
    """Reads Thrift's compact protocol: structs as mappings by field number."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at, self._values = data, 0, 0

    def struct(self) -> dict[int, Any]:
        """Return the struct that begins here."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            delta, kind = head >> 4, head & 0x0F
            number = number + delta if delta else self._zigzag()
            fields[number] = kind == TRUE if kind in (TRUE, FALSE) else self._value(kind)
        return fields

    def _value(self, kind: int) -> Any:
        self._values += 1
        if self._values > MOST_VALUES:
            raise ValueError("too many values")
        if kind in (I16, I32, I64):
            return self._zigzag()
        if kind in (TRUE, FALSE, BYTE):  # the first two as elements of a list
            return self._byte()
        if kind == BINARY:
            return self._take(self._varint())
        if kind == DOUBLE:
            return struct.unpack("<d", self._take(8))[0]
        return self._parts(kind)

    def _parts(self, kind: int) -> Any:
        if kind in (LIST, SET):
            return self._list()
        if kind == STRUCT:
            return self.struct()
        if kind == MAP:
            return self._map()
        raise ValueError(f"no such type: {kind}")

    def _list(self) -> list[Any]:
        head = self._byte()
        size = head >> 4 if head >> 4 != LONG else self._varint()
        return [self._value(head & 0x0F) for _ in range(size)]

    def _map(self) -> list[tuple[Any, Any]]:
        size = self._varint()
        kinds = self._byte() if size else 0  # an empty map does not have them
        return [(self._value(kinds >> 4), self._value(kinds & 0x0F)) for _ in range(size)]

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise ValueError("cut off")
        self._at += size
        return taken

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > MOST_BITS:
                raise ValueError("a number without an end")
        return value | byte << shift

    def _zigzag(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)
