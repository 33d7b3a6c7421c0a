r"""A log's bytes as they were before a collector packed its lines into JSON, or a terminal broke them.

Covered: a JSON object a line (Docker, CloudWatch, Google's logging, structlog, python-json-logger), its message and its
exception; a traceback with `\n` for line feeds within any line, as torchelastic's error files have; lines broken at the last
column. Not covered: JSON over several lines; objects that were broken themselves.

Numbers of lines stay those of the file: `SOFT` begins a line that the file has no line feed for, `JOINED` stands for a line
that was put behind the one before.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, cast

from holdfast.core.text.json_text import parse_json

SOFT: Final = b"\x0b"
JOINED: Final = b"\x0c"
SNIFFED: Final = 256 * 2**10
"""Bytes that decide how a log is packed."""
LONGEST: Final = 256 * 2**10
"""Bytes of a line that is waited for; of a longer one nothing is unpacked."""
OBJECTS: Final = 0.2
"""Share of the lines that are objects with a message from which a log is taken for such."""
WIDTHS: Final = frozenset({79, 80, 100, 119, 120, 132, 160, 200})
"""Columns of terminals: one full line is enough to believe them."""
NARROWEST: Final = 60
ALIKE: Final = 3
"""Characters with which a line begins as the one before it does."""
MOST_ODD: Final = 0.1
"""Share of full lines that may be followed by a line which looks like one of its own."""
NEARLY: Final = 12
"""Characters that a line which was broken between words may lack."""
FULL_LINES: Final = 3
"""Lines of just the same length, and none longer, from which any other width is believed."""
RULER: Final = re.compile(r"^\s*(\S)\1{20,}\s*$|^\s*[│┃|╭╰+┌└─━]|\r")
"""Lines that are as wide as the terminal by themselves."""
TEXTS: Final = ("log", "message", "msg", "event", "text", "textPayload", "@message", "body", "line")
"""Names under which objects have their text."""
EXCEPTIONS: Final = ("exception", "exc_info", "traceback", "stack_trace", "stacktrace", "error", "exc_text")
TIMES: Final = ("timestamp", "time", "asctime", "@timestamp", "ts")
STAMP: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*")
ESCAPED: Final = b"Traceback (most recent call last):\\n"
ESCAPE: Final = re.compile(rb"\\+([nt\"])")

LineDecoder = Callable[[bytes], bytes]


def feeds(data: bytes, start: int, end: int) -> int:
    """Return the number of the file's line feeds in a part of unpacked bytes."""
    count = data.count(b"\n", start, end)
    return count - data.count(b"\n" + SOFT, start, end + 1) if count and data.find(SOFT, start, end + 1) >= 0 else count


def unpacked(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a log's bytes with its lines as they were written."""
    sample, rest = _sampled(iter(chunks))
    lines = _split(sample)
    width = 0 if _are_objects(lines) else width_of(lines)
    if _are_objects(lines):
        yield from _each_line(rest, _object_lines)
    elif width:
        yield from _unbroken(rest, width)
    else:
        yield from _as_it_is(rest)


def _sampled(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes, and all of them."""
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size >= SNIFFED:
            break
    start = b"".join(held)

    def every() -> Iterator[bytes]:
        yield _unmarked(start)
        for chunk in chunks:
            yield _unmarked(chunk)

    return start[:SNIFFED], every()


def _unmarked(chunk: bytes) -> bytes:
    """Return bytes without what would be taken for our own marks."""
    for mark in (SOFT, JOINED):
        if mark in chunk:
            chunk = chunk.replace(mark, b" ")
    return chunk


def _split(sample: bytes) -> list[str]:
    return [line for line in sample.decode("utf-8", "replace").split("\n") if line.strip()]


def _whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield pieces that end where a line does, unless that is too long."""
    held = b""
    for chunk in chunks:
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield held + chunk[:cut]
            held = chunk[cut:]
        else:
            held += chunk
        if len(held) > LONGEST:
            yield held
            held = b""
    if held:
        yield held


def _as_it_is(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the content that was not packed, except for tracebacks on a single line."""
    for piece in _whole_lines(chunks):
        if ESCAPED not in piece:
            yield piece
        else:
            yield b"\n".join(_unescaped(line) for line in piece.split(b"\n"))


def _unescaped(line: bytes) -> bytes:
    r"""Return a line with the traceback in it as lines of its own.

    >>> _unescaped(b'{"message": "Traceback (most recent call last):\\nKeyError: 1\\n"}')
    b'{"message": "\n\x0bTraceback (most recent call last):\n\x0bKeyError: 1\n\x0b"}'
    """
    at = line.find(ESCAPED)
    if at < 0:
        return line
    text = ESCAPE.sub(lambda found: {b"n": b"\n" + SOFT, b"t": b"\t", b'"': b'"'}[found[1]], line[at:])
    return line[:at] + b"\n" + SOFT + text


def _each_line(chunks: Iterable[bytes], change: LineDecoder) -> Iterator[bytes]:
    for piece in _whole_lines(chunks):
        yield b"\n".join(change(line) for line in piece.split(b"\n"))


def _are_objects(lines: Sequence[str]) -> bool:
    """True if the lines are objects of JSON that have a text."""
    objects = sum(_object_in(line) is not None for line in lines if "{" in line)
    return objects > OBJECTS * len(lines)


def _object_in(line: str) -> Mapping[str, Any] | None:
    """Return the object that a line is, but for what stands before it; None if it has no text."""
    at = line.find('{"')
    if at < 0 or not line.rstrip().endswith("}"):
        return None
    try:
        found = parse_json(line[at:])
    except ValueError:
        return None
    return found if isinstance(found, dict) and _text(found) is not None else None


def _object_lines(line: bytes) -> bytes:
    r"""Return the text of a line's object; the line itself where it is none.

    >>> _object_lines(b'{"log": "KeyError: 1\\n", "stream": "stderr"}')
    b'KeyError: 1'
    """
    found = _object_in(line.decode("utf-8", "replace")) if b"{" in line else None
    if found is None:
        return _unescaped(line)
    text = "\n".join((_text(found) or "", *_exceptions(found))).strip("\n")
    when = next((STAMP.match(each) for name in TIMES if isinstance(each := found.get(name), str)), None)
    rank = found.get("rank", found.get("global_rank"))
    prefix = (f"{when[0]} " if when else "") + (f"[rank{rank}]: " if isinstance(rank, int) else "")
    return ("\n" + SOFT.decode()).join(prefix + each for each in text.split("\n")).encode()


def _text(record: Mapping[str, Any]) -> str | None:
    """Return the text of an object; torchelastic's has it one level deeper."""
    for name in TEXTS:
        value = record.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, dict):
            inner = cast("dict[str, Any]", value)
            extra = inner.get("extraInfo")
            stack = cast("dict[str, Any]", extra).get("py_callstack") if isinstance(extra, dict) else None
            return stack if isinstance(stack, str) else _text(inner)
    return None


def _exceptions(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the exceptions of an object, as text."""
    for name in EXCEPTIONS:
        value = record.get(name)
        if isinstance(value, str) and value.strip():
            yield value
        elif isinstance(value, list):
            yield from (_rendered(each) for each in reversed(value) if isinstance(each, dict))


def _rendered(exception: Mapping[str, Any]) -> str:
    """Return an exception of structlog's `dict_tracebacks` as Python writes it."""
    frames: list[str] = []
    for each in exception.get("frames", ()):
        frames.append(f'  File "{each.get("filename")}", line {each.get("lineno")}, in {each.get("name")}')
        frames += [f"    {code}" for code in (each.get("line"),) if code]
    error = f"{exception.get('exc_type')}: {exception.get('exc_value')}"
    return "\n".join(["Traceback (most recent call last):", *frames, error])


def width_of(lines: Sequence[str]) -> int:
    """Return the column at which a terminal broke the lines; 0 if none did.

    >>> width_of(["x" * 79 + ",", "and so on"]), width_of(["x" * 99 + "y", "x y" * 40])
    (80, 0)
    """
    shapes = {re.sub(r"\d+", "0", line): len(line) for line in lines if not RULER.search(line)}
    lengths = Counter(shapes.values())  # what is said again and again, of every rank or step, is as long each time
    longest = max(lengths, default=0)
    pairs = [(one, two) for one, two in pairwise(lines) if not RULER.search(one)]
    broken = [(one, two) for one, two in pairs if len(one) == longest]
    if _are_whole(broken) or _are_broken_at_words(pairs, longest) or not _is_width(longest, lengths, broken):
        return 0
    return longest


def _is_width(longest: int, lengths: Counter[int], broken: Sequence[tuple[str, str]]) -> bool:
    """True if the longest lines are as long as a terminal is wide: there are many, or it is a usual width and one ends within a word."""
    if longest < NARROWEST:
        return False
    if lengths[longest] >= FULL_LINES:
        return lengths[longest] > 2 * lengths[longest - 1]
    return longest in WIDTHS and any(map(_is_broken_inside, broken))


def _is_broken_inside(pair: tuple[str, str]) -> bool:
    """True if a line ends where no word does; between two letters it may have been broken between words as well."""
    one, two = pair
    return not (one[-1].isalpha() and two[0].isalpha()) or one.lstrip().startswith('File "')


def _are_whole(pairs: Sequence[tuple[str, str]]) -> bool:
    """True if what stands behind full lines, if anything does, begins as they do: then each is a line of its own."""
    return not pairs or sum(two.startswith(("  ", one[:ALIKE])) for one, two in pairs) > MOST_ODD * len(pairs)


def _are_broken_at_words(pairs: Sequence[tuple[str, str]], width: int) -> bool:
    """True if lines that are not quite full end where the next word would not fit: nothing is put together then."""
    full = sum(len(one) == width for one, _ in pairs)
    short = sum(width - NEARLY < len(one) < width < len(one) + 1 + len(two.split(" ", 1)[0]) for one, two in pairs)
    return short >= full


def _unbroken(chunks: Iterable[bytes], width: int) -> Iterator[bytes]:
    """Yield the lines with what was broken off put behind them again."""
    before, count = b"", 0
    for piece in _whole_lines(chunks):
        ends = piece.endswith(b"\n")
        done: list[bytes] = []
        for line in piece.removesuffix(b"\n").split(b"\n"):
            before, count = before + line, count + 1
            if ends and _is_full(line, width):
                continue
            done += [before, *[JOINED] * (count - 1)]
            before, count = b"", 0
        yield b"\n".join(done) + (b"\n" if done and ends else b"")
    if count:
        yield b"\n".join([before, *[JOINED] * (count - 1)]) + b"\n"


def _is_full(line: bytes, width: int) -> bool:
    text = line.decode("utf-8", "replace")
    return len(text) == width and not RULER.search(text)
