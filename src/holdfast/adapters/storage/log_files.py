"""The bytes of logs: files, compressed ones, folders of them, standard input.

Covered: gzip by its first bytes, xz and bzip2 likewise, UTF-16 with its mark (PowerShell writes it), standard input as `-`,
folders (every file in them whose name is a log's). Not covered: archives; logs that other programs hold.
"""

import bz2
import codecs
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from json import JSONDecoder
from pathlib import Path
from shlex import quote
from typing import Any, BinaryIO, Final, Literal, cast

from holdfast.core.errors import SourceError, UsageError
from holdfast.core.text.json_text import parse_json

CHUNK: Final = 8 * 2**20
SNIFFED: Final = 64 * 2**10
"""Bytes that decide whether a file is a log at all."""
MOST_NULS: Final = 0.01
"""Share of zero bytes up to which a file is text: a machine that crashed leaves some."""
STDIN: Final = "-"
LOGS: Final = frozenset({".log", ".out", ".err", ".txt", ".gz", ".xz", ".bz2", ""})
COMPRESSED: Final[Mapping[bytes, Callable[[str, Literal["rb"]], object]]] = {
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"BZh": bz2.open,
}
WIDE: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


COLUMNS: Final = frozenset(
    [
        "messages",
        "conversations",
        "prompt",
        "completion",
        "completions",
        "chosen",
        "rejected",
        "text",
        "instruction",
        "input",
        "output",
        "question",
        "answer",
        "query",
        "response",
    ]
)
"""Columns of datasets that people train on."""
LOGGED: Final = frozenset(
    [
        "event",
        "message",
        "msg",
        "level",
        "levelname",
        "severity",
        "time",
        "timestamp",
        "ts",
        "asctime",
        "record",
        "log",
        "stream",
        "logger",
        "loss",
        "step",
    ]
)
"""Keys of a log whose lines are JSON."""


def open_logs(paths: Sequence[str]) -> list[tuple[str, Iterator[bytes]]]:
    """Return each log's name and its bytes, in pieces of some megabytes; a folder stands for the logs in it, in order of name.

    Args:
        paths: Files, folders, or `-` for standard input.

    Raises:
        UsageError: A path does not exist, is a folder without logs, is not text, or is a dataset. The last two are found when it is read.
        SourceError: A file cannot be read. Likewise.
    """
    return [(str(path), read_chunks(str(path))) for given in paths for path in _files(given)]


def _files(given: str) -> list[Path]:
    path = Path(given)
    if given == STDIN or path.is_file() or path.is_fifo() or path.is_char_device():
        return [path]
    if not path.exists():
        raise UsageError(
            "there is no such log", where=given, fix="give the path of a log, or `-` to read standard input"
        )
    logs = sorted(each for each in path.rglob("*") if each.suffix in LOGS and _is_file(each))
    if not logs:
        raise UsageError(
            "there is no log in this folder", where=given, fix="name the file; logs end in .log, .out, .err or .txt"
        )
    return logs


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # in a folder that may be listed, and not entered
        return False


def read_chunks(path: str) -> Iterator[bytes]:
    """Yield the bytes of one log, decompressed, in UTF-8 where they were UTF-16.

    A compressed file that was cut is read as far as it goes.

    Raises:
        UsageError: It is no text, or holds the rows of a dataset.
        SourceError: It cannot be read.
    """
    try:
        with _opened(path) as raw:
            yield from _decoded(raw, path)
    except OSError as error:
        what = f"the log cannot be read: {error.strerror or error}"
        raise SourceError(what, where=path, fix="check that it is a file that you may read") from error


def _opened(path: str) -> AbstractContextManager[BinaryIO]:
    if path == STDIN:
        return nullcontext(sys.stdin.buffer)  # it stays open for whoever reads next
    with Path(path).open("rb") as file:
        start = file.read(6)
    for magic, opener in COMPRESSED.items():
        if start.startswith(magic):
            return cast("BinaryIO", opener(path, "rb"))
    return Path(path).open("rb", buffering=0)


def _decoded(raw: BinaryIO, path: str) -> Iterator[bytes]:
    chunks = _pieces(raw)
    first = next(chunks, b"")
    encoding = next((name for mark, name in WIDE.items() if first.startswith(mark)), None)
    if encoding is None:
        _refuse_binary(first[:SNIFFED], path)
        _refuse_rows(first[:SNIFFED], path)
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield decoder.decode(first[2:]).encode()
    for chunk in chunks:
        yield decoder.decode(chunk).encode()


def _pieces(raw: BinaryIO) -> Iterator[bytes]:
    """Yield the content in pieces; a truncated compressed file ends at the cut."""
    packed = raw if isinstance(raw, gzip.GzipFile | lzma.LZMAFile | bz2.BZ2File) else None
    while True:
        try:
            # `read` of a compressed file that was cut raises, and what it had read is lost; `read1` gives it first
            piece = packed.read1(CHUNK) if packed else raw.read(CHUNK)
        except (EOFError, zlib.error, lzma.LZMAError):
            return
        if not piece:
            return
        yield piece


def _refuse_binary(start: bytes, path: str) -> None:
    """Raise an error if the first bytes of a file are no text.

    Raises:
        UsageError: They are not.
    """
    if start and start.count(0) > MOST_NULS * len(start):
        raise UsageError("this is a binary file, not a log", where=path, fix="give the text that the job printed")


def _refuse_rows(start: bytes, path: str) -> None:
    """Raise an error if a file begins with rows of a dataset.

    Raises:
        UsageError: It does.
    """
    columns = row_columns(start)
    if columns:
        what = f"this is a dataset with the columns {', '.join(columns)}, not a log"
        raise UsageError(
            what, where=path, fix=f"give the text that the job printed; `holdfast inspect {quote(path)}` looks at rows"
        )


def row_columns(start: bytes) -> tuple[str, ...]:
    r"""Return the columns of the rows that a text consists of: JSON objects, one per line or in a list; none if it is no dataset.

    >>> row_columns(b'{"prompt": "a", "completion": "b"}\n'), row_columns(b'[\n {"text": "a"}\n]')
    (('prompt', 'completion'), ('text',))
    >>> row_columns(b'{"level": "info", "text": "step 1"}'), row_columns(b'{"text": "a row"}\nTraceback')
    ((), ())
    """
    rows = _json_rows(start.decode(errors="replace").strip(), whole=len(start) < SNIFFED)
    if not rows or any(not isinstance(row, dict) or LOGGED & row.keys() for row in rows):
        return ()
    columns = tuple(rows[0])
    return columns if COLUMNS & set(columns) else ()


def _json_rows(text: str, *, whole: bool) -> list[Any]:
    """Return the JSON values of a text: of a list its elements, else one per line; none if a line is no JSON.

    Args:
        text: The text, or the beginning of it.
        whole: Whether nothing is missing; else the last line is left out.
    """
    with suppress(ValueError, RecursionError):
        if text.startswith("[") and whole:
            return list(parse_json(text))
        if text.startswith("["):
            return [JSONDecoder().raw_decode(text[1:].lstrip())[0]]
        lines = text.splitlines() if whole else text.splitlines()[:-1]
        return [parse_json(line) for line in lines if line.strip()]
    return []
