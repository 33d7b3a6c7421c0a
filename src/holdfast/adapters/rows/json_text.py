"""JSON in its three layouts: one row a line, one array of all rows, or values one after another over many lines.

Whatever the layout, it is given on as JSON Lines.
"""

import codecs
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from json.decoder import JSONDecodeError
from typing import Any, Final, Literal

from holdfast.adapters.rows.encodings import tell_undecodable
from holdfast.adapters.rows.pieces import CHUNK_BYTES, LARGEST_LINE_BYTES
from holdfast.adapters.rows.sources import ByteSource
from holdfast.core.text.json_text import DEEPEST, TOO_DEEP, is_deep, parse_json

Layout = Literal["lines", "array", "values"]
BOM: Final = codecs.BOM_UTF8


MOST_VALUES: Final = 2_000_000
"""Values of one row; as Python objects they take a hundred times the memory of their texts."""


class DuplicateKeyError(ValueError):
    """A name stands twice in one object: pyarrow refuses it."""


class _RowDecoder(json.JSONDecoder):
    """Decodes rows; an integer of more digits than Python reads is the float that pyarrow makes of it."""

    def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
        try:
            return super().raw_decode(s, idx)
        except RecursionError:
            raise JSONDecodeError(TOO_DEEP, s, idx) from None
        except (JSONDecodeError, DuplicateKeyError):
            raise
        except ValueError:
            return LONG_NUMBERS.raw_decode(s, idx)


DECODER: Final = _RowDecoder()
LONG_NUMBERS: Final = json.JSONDecoder(parse_int=float)


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise DuplicateKeyError(f"`{next(name for name in names if names.count(name) > 1)}` stands twice in one object")
    return made


STRICT: Final = _RowDecoder(object_pairs_hook=_without_twins)
NO_ROW: Final = 'a row is an object such as {{"text": …}}, not {!r:.40}'
# Memory that reading one array or one line takes, by its size. Tried with datasets 5.2: 300 MB of chat rows in an array took
# 2.35 GB, a line of 300 MB 2.05 GB.
MEMORY_PER_BYTE: Final = 8
# Half of a character, which pyarrow refuses and polars makes a NUL of. A backslash before its own stands for one in the text, as
# where JSON is quoted in JSON.
HALF_CHARACTER: Final = re.compile(
    rb"(?i)(?<!\\)(?:\\\\)*\\u(?:d[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})|(?<!\\ud[89ab][0-9a-f]{2}\\u)d[c-f][0-9a-f]{2})"
)
# An error this close to the end of what was read may come from the end.
NEAR_END: Final = 16


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows as JSON Lines.

    Attributes:
        text: The lines.
        line: Number of the first in the file, counted from 1; None if the file's lines are no rows.
        problem: Why the file cannot be read behind it.
    """

    text: bytes
    line: int | None = None
    problem: str = ""


def split_chunk(chunk: Chunk, most_lines: int) -> Iterator[Chunk]:
    """Yield a chunk in parts of some lines each; the last one has its problem."""
    if chunk.text.count(b"\n") < most_lines:
        yield chunk
        return
    lines = io.BytesIO(chunk.text).readlines()
    for start in range(0, len(lines), most_lines):
        line = None if chunk.line is None else chunk.line + start
        yield Chunk(b"".join(lines[start : start + most_lines]), line)
    if chunk.problem:
        yield Chunk(b"", chunk.line, chunk.problem)


def layout_of(beginning: bytes) -> Layout:
    """Return the layout of a file, by its first chunk."""
    text = beginning.lstrip()
    if text.startswith(b"["):
        return "array"
    first = text[: text.find(b"\n")] if b"\n" in text else text
    if _is_json(first) or not first.startswith(b"{"):
        return "lines"
    decoded = text.decode("utf-8", errors="replace")
    try:
        _, end = DECODER.raw_decode(decoded)
    except JSONDecodeError:
        return "lines"
    return "values" if "\n" in decoded[:end] else "lines"


def _is_json(line: bytes) -> bool:
    try:
        parse_json(line)
    except ValueError:
        return False
    return True


def chunks_of(source: ByteSource, size: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """Yield the rows of a file, as JSON Lines in chunks of about `size` bytes."""
    beginning = source.read(size).removeprefix(BOM)
    if layout_of(beginning) == "array":
        yield from _array(beginning, source, size)
    elif (beginning := source.finish(beginning)) and layout_of(beginning) == "values":
        yield from _values(beginning, source, size)
    elif beginning:
        yield from _lines(beginning, source, size)


def _lines(beginning: bytes, source: ByteSource, size: int) -> Iterator[Chunk]:
    yield Chunk(beginning, 1)
    line = 1 + beginning.count(b"\n")
    while chunk := source.chunk(size):
        yield Chunk(chunk, line)
        line += chunk.count(b"\n")


def _values(beginning: bytes, source: ByteSource, size: int) -> Iterator[Chunk]:
    """Yield objects that are spread over lines; `datasets` can read no more of them than fit into one chunk, or one block."""
    try:
        text = beginning.decode()
    except UnicodeDecodeError as error:
        line = beginning.count(b"\n", 0, error.start) + 1
        yield Chunk(b"", None, f"line {line}: {tell_undecodable(beginning, error)}")
        return
    rows, at, ends = [], 0, [0]
    problem = ""
    while (at := _skip_blank(text, at)) < len(text):
        try:
            _, end = DECODER.raw_decode(text, at)
        except JSONDecodeError as error:
            problem = f"line {text.count(chr(10), 0, error.pos) + 1}: not JSON ({error.msg}){_hint(error)}"
            break
        rows.append(_on_one_line(text[at:end]))
        ends.append(end)
        at = end
    if source.read(1) or (len(rows) > 1 and _is_cut_up(beginning, text, ends, size)):
        problem = "objects over several lines are read only from small files: write one row a line"
    yield Chunk("\n".join(rows).encode(), None, problem)


def _is_cut_up(beginning: bytes, text: str, ends: list[int], size: int) -> bool:
    """True if `datasets` would parse a part of an object by itself: of a short file it parses blocks, each up to a line break.

    Source: `Json._generate_tables` of datasets 5.2, and pyarrow's chunker. Tried with files of 50 KB to 11 MB.
    """
    block = max(size // 32, 16 << 10)
    if len(beginning) // 8 > block:
        return False  # it is one block then
    sizes = [len(text[start:end].encode()) for start, end in pairwise(ends)]
    whole = {-1, *accumulate(sizes)}
    edges = range(block, len(beginning), block)
    # The line that an edge runs through is parsed by itself as well.
    return any(beginning.rfind(b"\n", 0, at) not in whole or beginning.find(b"\n", at) not in whole for at in edges)


def _skip_blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _on_one_line(text: str) -> str:
    """Return one JSON value without line breaks, which are never inside of its texts."""
    return text.replace("\n", " ").replace("\r", " ")


def _array(beginning: bytes, source: ByteSource, size: int) -> Iterator[Chunk]:
    """Yield the elements of one array; those that are no objects as rows with one column, `text`."""
    elements = Elements(beginning, source)
    as_rows = b"{" in beginning[:100].split(b'"', 1)[0]  # as datasets tells them apart
    rows: list[bytes] = []
    length = 0
    for element in elements:
        row = _on_one_line(element).encode()
        rows.append(row if as_rows else b'{"text": %b}' % row)
        length += len(row)
        if length >= size:
            yield Chunk(b"\n".join(rows))
            rows, length = [], 0
    if rows or elements.problem:
        yield Chunk(b"\n".join(rows), None, elements.problem)


class Elements:
    """The elements of a JSON array, as texts, without having more than one of them in memory.

    Attributes:
        problem: Why they end, if not with the array.
    """

    def __init__(self, beginning: bytes, source: ByteSource) -> None:
        """Take the file's beginning, and the rest of it."""
        self._source = source
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._text, self._at, self._ended = "", 0, False
        self.problem = ""
        self._lines = 0
        self._take(beginning)

    def __iter__(self) -> Iterator[str]:
        """Yield each element's text."""
        self._at = self._text.find("[") + 1
        if self._next() == "]":
            self._check_end()
            return
        while (element := self._element()) is not None:
            yield element
            following = self._next()
            self._at += 1
            if following != ",":
                self._end_with(following)
                return

    def _end_with(self, following: str) -> None:
        if following == "]":
            self._at -= 1
            self._check_end()
        else:
            self.problem = self._with_line("the array does not end" if not following else "a comma is missing")

    def _check_end(self) -> None:
        self._at += 1
        if self._next():
            self.problem = self._with_line("something follows the array")

    def _element(self) -> str | None:
        """Return the next element's text, having read as much as it takes; None if there is none."""
        if not self._next():
            self.problem = self._with_line("the array does not end")
            return None
        while (end := self._end_of_element()) is None:
            if not self._more():
                self.problem = self.problem or self._with_line("the array does not end")
                return None
        element, self._at = self._text[self._at : end], end
        if len(element) > CHUNK_BYTES:
            self._forget()
        return element

    def _end_of_element(self) -> int | None:
        """Return where the next element ends; None if more must be read, or if it is not JSON, which becomes the problem."""
        try:
            _, end = DECODER.raw_decode(self._text, self._at)
        except JSONDecodeError as error:
            if not self._may_go_on(error):
                self.problem = self._with_line(f"not JSON ({error.msg}){_hint(error)}", error.pos)
            return None
        return end if end < len(self._text) or self._ended else None

    def _may_go_on(self, error: JSONDecodeError) -> bool:
        near = error.msg.startswith("Unterminated") or error.pos >= len(self._text) - NEAR_END
        return near and not self._ended and len(self._text) - self._at < LARGEST_LINE_BYTES

    def _next(self) -> str:
        """Return the next character that is not blank; empty at the end."""
        while (at := _skip_blank(self._text, self._at)) >= len(self._text):
            if not self._more():
                return ""
        self._at = at
        return self._text[at]

    def _more(self) -> bool:
        """Read on: as much as is there already, so that a long element is not tried too often."""
        if self._ended or self.problem:
            return False
        unread = len(self._text) - self._at
        self._take(self._source.read(max(1 << 20, unread)))
        return not self.problem

    def _take(self, more: bytes) -> None:
        self._ended = not more
        self._forget()
        try:
            decoded = self._decoder.decode(more, final=self._ended)
        except UnicodeDecodeError as error:
            self.problem = self._with_line(tell_undecodable(more, error))
            decoded = ""
        self._text += decoded

    def _forget(self) -> None:
        """Drop the text of the elements that were given."""
        self._lines += self._text.count("\n", 0, self._at)
        self._text, self._at = self._text[self._at :], 0

    def _with_line(self, what: str, at: int | None = None) -> str:
        line = self._lines + self._text.count("\n", 0, self._at if at is None else at) + 1
        return f"line {line}: {what}"


def rows_on(line: bytes, decoder: json.JSONDecoder = DECODER) -> list[Any]:
    """Return the JSON values on a line, mostly one.

    Args:
        line: The line.
        decoder: With `STRICT`, names that stand twice in one object are looked for, which takes time.

    Raises:
        ValueError: The line is not UTF-8, not JSON, too long, or has half a character; a DuplicateKeyError where it has twins.
    """
    if len(line) >= LARGEST_LINE_BYTES:
        most = f"{LARGEST_LINE_BYTES >> 20} MB"
        raise ValueError(
            f"a line of more than {most}, which is not read here, and for which `load_dataset` needs about "
            f"{MEMORY_PER_BYTE} times as much memory: write one row a line"
        )
    try:
        text = line.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise ValueError(f"{tell_undecodable(line, error)} (at byte {error.start + 1} of the line)") from error
    if text.count(",") + text.count("[") > MOST_VALUES:
        raise ValueError(f"a row of more than {MOST_VALUES:,} values, which is not read here: make several rows of it")
    if is_deep(text):
        raise ValueError(f"{TOO_DEEP}, which is not read here: move what is so deep into a text")
    if has_half_characters(line):
        raise ValueError("half of a surrogate pair, such as \\ud83d, which is not a character")
    values, at = [], 0
    try:
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            values.append(value)
            at += len(text) - at - len(text[at:].lstrip())
    except JSONDecodeError as error:
        raise ValueError(
            f"not JSON ({error.msg.removesuffix(' at')} at character {error.pos + 1} of the line){_hint(error)}"
        ) from error
    return values


def _hint(error: JSONDecodeError) -> str:
    """Return the fix for invalid JSON, where it is known; empty elsewhere."""
    rest = error.doc[error.pos :]
    closed = {"Expecting value": "]", "Expecting property name enclosed in double quotes": "}"}
    if "trailing comma" in error.msg or closed.get(error.msg) == rest[:1]:
        return ": remove the comma before the closing bracket"
    if rest.strip() == ",":
        return ": remove the comma at the end of the line; rows of JSON Lines have none between them"
    if rest.startswith(("'", "None", "True", "False")):
        return ": this is Python's spelling; write rows with `json.dumps`"
    if error.msg.startswith("Unterminated") or not rest.strip():
        return ": it is cut off here; write the file again, or remove this row"
    return ""


def has_deep_line(lines: bytes) -> bool:
    """True if one of some lines of JSON is nested deeper than is read."""
    deep = (line for line in lines.split(b"\n") if line.count(b"{") + line.count(b"[") > DEEPEST)
    return any(is_deep(line.decode(errors="replace")) for line in deep)


def has_half_characters(lines: bytes) -> bool:
    """True if an escape in a text stands for half of a character."""
    return (b"\\ud" in lines or b"\\uD" in lines) and HALF_CHARACTER.search(lines) is not None
