"""A job's logs, of any size, as what may decide: lines with one of some words, tracebacks, metrics, the beginning and the end.

Only lines that have a word are ever decoded; all words are looked for in one pass. Whatever is said a million times is kept
some thousand times, the first and the last, so memory does not grow with the log.
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Final, Generic, Literal, TypeVar

from ahocorasick_rs import BytesAhoCorasick, Implementation

from holdfast.core.log import Hit, Line, Log, Metrics, Traceback
from holdfast.engine.diagnose.cleaning import is_bar, prefix_of, step_in
from holdfast.engine.diagnose.lines import WindowLines
from holdfast.engine.diagnose.metrics import NOT_FINITE, STEPS, metrics_in
from holdfast.engine.diagnose.records import whole_record
from holdfast.engine.diagnose.restarts import RESTARTS, is_restart
from holdfast.engine.diagnose.tracebacks import (
    ANY_ERROR,
    ERROR,
    START,
    Chain,
    message_above,
    message_below,
    read_chain,
    read_headless,
)
from holdfast.engine.diagnose.unpacking import feeds
from holdfast.engine.diagnose.windows import Window, windows
from holdfast.engine.diagnose.wrapping import MOST_WRAPPED, wrapped_together

STRUCTURE: Final = (START, "Error: ", "Exception: ", "KeyboardInterrupt", *RESTARTS)
"""Words of every log, beside those of signatures."""
MOST_HITS: Final = 2000
"""Hits that are kept from the beginning of the logs, and as many from their end."""
MOST_TRACEBACKS: Final = 300
MOST_STEPS: Final = 300
MOST_ODD_STEPS: Final = 500
EDGE: Final = 40
"""Lines of the beginning, and of the end of each rank."""
MOST_MATCHES: Final = 2000
"""Matches of words in one window that are looked at one by one; of more, the first and the last of each word."""
MOST_RESTARTS: Final = 40
EACH_WORD: Final = 40
MOST_SOURCES: Final = 64
MOST_BARS: Final = 40
"""Bars of a window that are looked through, from its end."""
TRAINING_BARS: Final = frozenset({"", "steps", "step", "training", "train", "epoch"})
"""What stands before the bar of the training itself."""
RANK_IN_NAME: Final = re.compile(
    r"(?:^|[/_.\-])(?:rank|local_rank|worker|proc|task)[_\-]?(\d{1,4})(?=[/_.\-]|$)|/attempt_\d+/(\d{1,4})/std"
)
FRAME_LINE: Final = re.compile(r'^\s+File "|^\s{4,}\S')
SHORTENED: Final = re.compile(
    r"last available logs \(truncated|\[?\.\.\. ?(?:truncated|\d+ lines? (?:omitted|skipped))|output truncated",
    re.IGNORECASE,
)

T = TypeVar("T")
File = tuple[str, Iterable[bytes]]
"""A log's name, and its bytes in pieces of any size."""


@dataclass(frozen=True, slots=True)
class LogQuery:
    """What is looked for in a log.

    Attributes:
        words: Literals; a hit tells which of them a line has, by number.
        keeps: Tells whether a line with some of them, by number, is worth keeping: most are not what they look like.
    """

    words: Sequence[str] = ()
    keeps: Callable[[str, frozenset[int]], bool] = lambda _text, _words: True


def read_log(files: Iterable[File], sought: LogQuery) -> Log:
    """Return one log from a job's files, those of several ranks or services together.

    Args:
        files: One or more; each is read once, from its beginning to its end.
        sought: The words that matter.
    """
    reader = _LogReader(sought)
    names = [reader.read(name, chunks) for name, chunks in files]
    return reader.done(tuple(names))


class HeadAndTail(Generic[T]):
    """The first and the last of many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._first: list[T] = []
        self._last: deque[T] = deque(maxlen=most)

    def add(self, item: T) -> None:
        """Keep one more; of too many, those in the middle go."""
        (self._first if len(self._first) < self._most else self._last).append(item)

    def __iter__(self) -> Iterator[T]:
        yield from self._first
        yield from self._last


@lru_cache(4)
def _finder(words: tuple[bytes, ...], *, many: bool) -> BytesAhoCorasick:
    """Return a search automaton for words: for many windows a tenth faster, but it takes a quarter of a second to build instead of some hundredths."""
    return BytesAhoCorasick(words, implementation=Implementation.DFA if many else Implementation.ContiguousNFA)


class _LogReader:
    """What was found so far, in however many files."""

    def __init__(self, sought: LogQuery) -> None:
        self.sought = sought
        self.words = [word.encode() for word in (*sought.words, *STRUCTURE, *NOT_FINITE, *STEPS)]
        self.structure = len(sought.words)
        self.not_finite = self.structure + len(STRUCTURE)
        self.steps = self.not_finite + len(NOT_FINITE)
        self.finder = _finder(tuple(self.words), many=False)
        self.longest = max(map(len, self.words))
        self.lines = 0
        self.hits: HeadAndTail[Hit] = HeadAndTail(MOST_HITS)
        self.errors: HeadAndTail[Hit] = HeadAndTail(MOST_HITS // 4)
        self.metrics: HeadAndTail[Metrics] = HeadAndTail(MOST_STEPS)
        self.odd: list[Metrics] = []
        self.chains: dict[tuple[object, ...], tuple[Chain, int]] = {}
        self.head: list[Line] = []
        self.tail: list[Line] = []
        self.restarts: deque[Line] = deque(maxlen=MOST_RESTARTS)
        self.ignored: set[tuple[str, int]] = set()
        self.cut: set[Literal["beginning", "end"]] = set()
        self.ranks: set[int] = set()
        self.progress: tuple[int, int] | None = None

    def read(self, name: str, chunks: Iterable[bytes]) -> str:
        """Read one file; return its name."""
        match = RANK_IN_NAME.search(name)
        rank = int(match[1] or match[2]) if match else None
        members: dict[int, tuple[Traceback, Line]] = {}
        collector: re.Pattern[str] | None = None
        for window in windows(chunks):
            if not window.last:
                self.finder = _finder(tuple(self.words), many=True)
            if window.first and window.number == 1:
                collector = prefix_of(WindowLines(window, name, rank).texts())
            _read_window(self, WindowLines(window, name, rank, collector), members)
            if window.last:
                self.lines += window.number - (1 if window.data.endswith(b"\n") else 0)
                self.lines += feeds(window.data, window.start, len(window.data))
        return name

    def words_in(self, text: str) -> set[int]:
        """Return the numbers of the words that a text has, those of logs as such among them."""
        return {word for word, _, _ in self.finder.find_matches_as_indexes(text.encode(), overlapping=True)}

    def signature_words(self, text: str) -> frozenset[int]:
        """Return the numbers of the signatures' words for which a text is worth keeping."""
        words = {word for word in self.words_in(text) if word < self.structure}
        return frozenset(word for word in words if self.sought.keeps(text, frozenset({word})))

    def done(self, paths: tuple[str, ...]) -> Log:
        order = {path: at for at, path in enumerate(paths)}
        hits = sorted((*self.hits, *self.errors), key=lambda hit: (order[hit.line.path], hit.line.number))
        steps = {each.line.place: each for each in (*self.metrics, *self.odd)}
        return Log(
            paths=paths,
            lines=self.lines,
            hits=tuple(hits),
            tracebacks=tuple(replace(linked.last, count=count) for linked, count in self.chains.values()),
            metrics=tuple(sorted(steps.values(), key=lambda step: (order[step.line.path], step.line.number))),
            head=tuple(self.head),
            tail=tuple(self.tail),
            cut=tuple(sorted(self.cut)),
            ranks=frozenset(self.ranks),
            progress=self.progress,
            restarts=tuple(self.restarts),
        )


def _read_window(reader: _LogReader, lines: WindowLines, members: dict[int, tuple[Traceback, Line]]) -> None:
    """Take what one window's body tells."""
    window = lines.window
    if window.first:
        _read_head(reader, lines)
    for position in _positions(reader, window):
        _read_match(reader, lines, position, members)
    _read_progress(reader, lines)
    if window.last:
        _read_tail(reader, lines)


def _positions(reader: _LogReader, window: Window) -> list[int]:
    """Return where words begin in the body; of too many, the first and the last of each word."""
    body = memoryview(window.data)[window.start : min(len(window.data), window.end + reader.longest)]
    size = window.end - window.start
    found = reader.finder.find_matches_as_indexes(body)
    while found and found[-1][1] >= size:
        found.pop()
    if len(found) > MOST_MATCHES:
        found = [*_first_of_each(found), *_first_of_each(reversed(found))]
    return sorted({window.start + start for _, start, _ in found})


def _first_of_each(spans: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Yield the first matches of each word."""
    left = defaultdict[int, int](lambda: EACH_WORD)
    for match in spans:
        if left[match[0]]:
            left[match[0]] -= 1
            yield match


def _read_match(
    reader: _LogReader, lines: WindowLines, position: int, members: dict[int, tuple[Traceback, Line]]
) -> None:
    """Take the line in which a word stands: a traceback's beginning, a step's metrics, or one that may decide."""
    line = lines.line_at(position)
    if (at := members.get(-1)) and at[1] is line:
        return  # another word of the same line
    members[-1] = (members.get(line.number, (Traceback(start=line), line))[0], line)
    if START in line.text:
        _read_traceback(reader, lines, position, line, members)
    text = line.text
    words = _read_word(reader, lines, position, line)
    kept = bool(words) and reader.sought.keeps(text, words)
    if not kept and not ERROR.match(text):
        return
    member = members.get(line.number)
    traceback = member[0] if member else _headless(lines, position, line)
    if traceback and traceback.start.place in reader.ignored:
        return
    if kept or not (traceback and line not in traceback.error):
        hit = Hit(
            line=line, around=lines.around(position, line), words=words if kept else frozenset(), traceback=traceback
        )
        (reader.hits if kept else reader.errors).add(hit)


def _read_word(reader: _LogReader, lines: WindowLines, position: int, line: Line) -> frozenset[int]:
    """Take what a line tells by itself: a step, another attempt, that a rank wrote; return which of the signatures' words it has."""
    found = reader.words_in(line.text)
    if any(word >= reader.not_finite for word in found):
        is_odd = any(word < reader.steps for word in found if word >= reader.not_finite)
        above = (each for _, each in lines.before(position) if each.writer == line.writer)
        below = (each for _, each in lines.behind(position) if each.writer == line.writer)
        bar = lines.bar_behind(position) or line.bar
        _read_step(reader, *whole_record(line, above, below), progress=_step_of_bar(bar), is_odd=is_odd)
    if is_restart(line.text):
        reader.restarts.append(line)
    if line.rank is not None:
        reader.ranks.add(line.rank)
    return frozenset(word for word in found if word < reader.structure)


def _read_traceback(
    reader: _LogReader, lines: WindowLines, position: int, line: Line, members: dict[int, tuple[Traceback, Line]]
) -> None:
    """Take a traceback and those that follow from it, unless it was taken with the one before."""
    if line.number in members:
        return
    behind = (each for _, each in lines.behind(position) if each.writer == line.writer)
    linked = read_chain(line, behind, lines.leading(position, line))
    for part, seen in zip(linked.parts, linked.lines, strict=True):
        members.update((each.number, (part, each)) for each in seen)
    if _is_ignored(lines, position):
        reader.ignored |= {part.start.place for part in linked.parts}
        return
    if not linked.last.error:
        reader.cut.add("end")
    alike = tuple((_shape(part), part.frames[-1:]) for part in linked.parts)
    known = reader.chains.get(alike)
    if known:
        reader.chains[alike] = (known[0], known[1] + 1)
    elif len(reader.chains) < MOST_TRACEBACKS:
        reader.chains[alike] = (linked, 1)
    for part in linked.parts:
        _read_joined(reader, part)


def _is_ignored(lines: WindowLines, position: int) -> bool:
    """True if Python itself ignored an exception, as in the last moments of a process."""
    before = next((each for _, each in lines.before(position) if each.text.strip()), None)
    return before is not None and "Exception ignored in" in before.text


def _headless(lines: WindowLines, position: int, line: Line) -> Traceback | None:
    """Return the traceback that ends in a line and whose beginning is missing; None if no frame stands before it."""
    if "Warning: " in line.text:
        return None
    before = (each for _, each in lines.before(position) if each.writer == line.writer)
    behind = (each for _, each in lines.behind(position) if each.writer == line.writer)
    is_error = ANY_ERROR.match(line.text.lstrip())
    error = [line, *message_below(behind)] if is_error else message_above(line, before)
    return read_headless(error, before) if error else None


def _shape(traceback: Traceback) -> str:
    """Return an exception without its numbers, which differ between ranks."""
    return re.sub(r"0x[0-9a-f]+|\d+", "#", traceback.error[0].text if traceback.error else "")


def _read_joined(reader: _LogReader, traceback: Traceback) -> None:
    """Take an exception whose message was wrapped, if only its lines put together have a word."""
    if len(traceback.error) < 2:  # noqa: PLR2004 - two lines can be joined
        return
    joined = joined_error(traceback)
    words = reader.signature_words(joined).difference(*(reader.signature_words(line.text) for line in traceback.error))
    if words:
        line = replace(traceback.error[0], text=joined)
        reader.hits.add(Hit(line=line, around=traceback.error[1:], words=words, traceback=traceback))


def _read_wrapped(reader: _LogReader, lines: WindowLines, paragraph: Sequence[tuple[int, Line]]) -> None:
    """Take lines that were broken between words, if only several of them put together have a word.

    Args:
        reader: What was found.
        lines: The window's.
        paragraph: Lines that follow one another, of one rank or source, each with where it begins.
    """
    texts = [line.text.strip() for _, line in paragraph]
    known = [reader.signature_words(text) for text in texts]
    for at, (position, line) in enumerate(paragraph):
        end = at + wrapped_together(texts[at : at + MOST_WRAPPED])
        if end > at + 1:
            joined = max(
                (joint.join(texts[at:end]) for joint in (" ", "")), key=lambda text: len(reader.signature_words(text))
            )
            words = reader.signature_words(joined)
            if words - frozenset().union(*known[at:end]) or (words and ERROR.match(joined)):
                whole, around = replace(line, text=joined), lines.around(position, line)
                reader.hits.add(Hit(line=whole, around=around, words=words, traceback=_headless(lines, position, line)))


def joined_error(traceback: Traceback) -> str:
    """Return an exception and its whole message as one line."""
    return " ".join(line.text.strip() for line in traceback.error)


def _read_step(reader: _LogReader, line: Line, text: str, *, progress: tuple[int, int] | None, is_odd: bool) -> None:
    """Take the metrics of a step; one with a value that is not finite is kept wherever it stands."""
    if values := metrics_in(text):
        step = Metrics(line=line, values=values, progress=progress)
        reader.metrics.add(step)
        if is_odd and len(reader.odd) < MOST_ODD_STEPS:
            reader.odd.append(step)


def _read_progress(reader: _LogReader, lines: WindowLines) -> None:
    """Take how far the training's bar got in the body: the last ones may be those of saving."""
    window = lines.window
    for unit in (b"it/s]", b"s/it]"):
        end, step = window.end, None
        for _ in range(MOST_BARS):
            end = window.data.rfind(unit, window.start, end)
            if end < 0 or (step := _training_step(lines, end)):
                break
        if step:
            reader.progress = max(step, reader.progress or step)


def _training_step(lines: WindowLines, position: int) -> tuple[int, int] | None:
    """Return the step of a progress bar and its total, if it is that of training and not of loading, tokenizing or saving."""
    line = lines.line_at(position)
    return _step_of_bar(line.bar or line.text)  # what is glued to a bar, such as a traceback, is the line's text


def _step_of_bar(text: str) -> tuple[int, int] | None:
    """Return the step of a bar and its total, if it is that of training."""
    described = text.split("|", 1)[0].strip().rstrip("0123456789% ").rstrip(":")
    return step_in(text) if described.lower() in TRAINING_BARS else None


def _read_head(reader: _LogReader, lines: WindowLines) -> None:
    first = lines.line_at(lines.window.start)
    if not lines.window.last:
        every = zip(range(EDGE), lines.behind(lines.window.start), strict=False)
        _read_wrapped(reader, lines, [(lines.window.start, first), *(each for _, each in every)])
    head = [first, *(line for _, (_, line) in zip(range(EDGE), lines.behind(lines.window.start), strict=False))]
    head = [line for line in head if line.text.strip() and not is_bar(line.text)]
    reader.head += head
    if (head and FRAME_LINE.match(head[0].text)) or any(SHORTENED.search(line.text) for line in head):
        reader.cut.add("beginning")


def _read_tail(reader: _LogReader, lines: WindowLines) -> None:
    """Take the last lines of each rank and source, as far as the window reaches back."""
    last: dict[tuple[int | None, str], list[tuple[int, Line]]] = {}
    end = len(lines.data)
    for looked, (position, line) in enumerate(chain(lines.unfinished(), lines.before(end))):
        kept = last.setdefault(line.writer, [])
        if len(kept) < EDGE and line.text.strip():
            kept.append((position, line))
        if looked > EDGE * MOST_SOURCES:
            break
    reader.tail += sorted((line for kept in last.values() for _, line in kept), key=lambda line: line.number)
    for kept in last.values():
        _read_wrapped(reader, lines, kept[::-1])
    reader.ranks |= {rank for rank, _ in last if rank is not None}
