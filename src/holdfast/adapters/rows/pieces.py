"""What the readers of data files give: pieces of a table, and the places where it cannot be read."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.core.rows.columns import Type
from holdfast.core.rows.scan import UnreadablePart

# As many bytes or characters as `datasets` reads at a time, so that the first of them decide on the same types.
CHUNK_BYTES = 10 << 20
# A line that is longer is not read; it must fit into memory several times, read and parsed.
LARGEST_LINE_BYTES = 40 << 20
# After so many places a file is left alone: nobody reads more of them.
MOST_BROKEN = 100

Columns = Mapping[str, Type]


@dataclass(frozen=True, slots=True)
class RowChunk:
    """Some rows of a file.

    Attributes:
        start: Number of the first in the file, counted from 0; those that cannot be read are counted too.
        frame: A `polars.DataFrame`.
    """

    start: int
    frame: Any


Pieces = Generator[RowChunk | UnreadablePart, None, int]
"""What a reader yields, in order. It returns how many rows the file has, with those that could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePreview:
    """What the beginning of a data file, or its end, tells.

    Attributes:
        columns: Types of its columns.
        rows: How many there are, where the file says so itself.
        whole: Whether `datasets` decides on the types with all of the file before it, so that the next file must have
            the very same.
        problems: What is wrong with it that reading it would not tell.
    """

    columns: Columns = field(default_factory=dict[str, Type])
    rows: int | None = None
    whole: bool = False
    problems: tuple[UnreadablePart, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """How one kind of data file is read.

    Attributes:
        look: Returns what a file's beginning tells. Raises SourceError where it cannot be read at all.
        read: Yields its rows, put into columns of the given types.
    """

    look: Callable[[Path], FilePreview]
    read: Callable[[Path, Columns], Pieces]
