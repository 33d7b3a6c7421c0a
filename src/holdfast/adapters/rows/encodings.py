"""The encoding of a file that is not UTF-8, with the argument by which `load_dataset` reads it.

Source: `datasets` 5.2, whose builders of csv, json and text all take `encoding`; each was tried with Windows-1252, UTF-16, GB 18030
and Shift JIS, and stops without it.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Final

WESTERN: Final = "cp1252"
BINARY: Final = re.compile(rb"[\x00-\x08]")
HIGH: Final = re.compile(rb"[\x80-\xff]+")
MOST_IN_A_ROW: Final = 2
"""Letters with accents, quotes and dashes that stand next to one another in western texts; elsewhere whole words are of such bytes."""


def lines_of(chunk: bytes, *, keep_ends: bool, damaged: bool) -> Iterator[str]:
    r"""The lines of a chunk, each decoded alone: one wide character makes a text take four times the memory.

    >>> list(lines_of("a\r\né\u2028b\n".encode(), keep_ends=True, damaged=False))
    ['a\r\n', 'é\u2028b\n']
    """
    decode = partial(bytes.decode, errors="replace") if damaged else bytes.decode
    return map(decode, chunk.splitlines(keepends=keep_ends))


def undecodable(chunk: bytes) -> UnicodeDecodeError | None:
    """What keeps a chunk from being UTF-8."""
    try:
        chunk.decode()
    except UnicodeDecodeError as error:
        return error
    return None


def tell_undecodable(data: bytes, error: UnicodeDecodeError) -> str:
    """Return the message for bytes that are not UTF-8.

    >>> data = "café".encode("latin-1")
    >>> try:
    ...     data.decode()
    ... except UnicodeDecodeError as error:
    ...     tell_undecodable(data, error)
    'not UTF-8 (unexpected end of data): `load_dataset` stops; `encoding="cp1252"` reads it, or save it as UTF-8'
    """
    named = name_encoding(data)
    read = f'`encoding="{named}"` reads it' if named else "name its encoding by `encoding=`"
    return f"not UTF-8 ({error.reason}): `load_dataset` stops; {read}, or save it as UTF-8"


def name_encoding(data: bytes) -> str:
    """Return the encoding that bytes are surely in; empty if they may be in several.

    >>> name_encoding("café “x”".encode("cp1252")), name_encoding("你好".encode("gb18030"))
    ('cp1252', '')
    """
    if BINARY.search(data) or any(len(run) > MOST_IN_A_ROW for run in HIGH.findall(data)):
        return ""
    try:
        data.decode(WESTERN)
    except UnicodeDecodeError:
        return ""
    return WESTERN
