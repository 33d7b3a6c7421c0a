"""A job's logs, of any size, as what may decide: lines with one of some words, tracebacks, metrics, the beginning and the end.

Only lines that have a word are ever decoded; all words are looked for in one pass. Whatever is said a million times is kept
some thousand times, the first and the last, so memory does not grow with the log.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Final

from holdfast.core.diagnose.log import Hit, Line, Log, Metrics, Traceback
from holdfast.engine.diagnose.cleaning import is_bar, prefix_of, step_in
from holdfast.engine.diagnose.headless import message_above, message_below, read_headless
from holdfast.engine.diagnose.kept_lines import KeptLines, LogQuery
from holdfast.engine.diagnose.lines import WindowLines
from holdfast.engine.diagnose.metrics import metrics_in
from holdfast.engine.diagnose.records import whole_record
from holdfast.engine.diagnose.restarts import is_restart
from holdfast.engine.diagnose.tracebacks import ANY_ERROR, ERROR, START, read_chain
from holdfast.engine.diagnose.unpacking import feeds
from holdfast.engine.diagnose.windows import Window, windows
from holdfast.engine.diagnose.wrapping import MOST_WRAPPED, wrapped_together

EDGE: Final = 40
"""Lines of the beginning, and of the end of each rank."""
MOST_MATCHES: Final = 2000
"""Matches of words in one window that are looked at one by one; of more, the first and the last of each word."""
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

File = tuple[str, Iterable[bytes]]
"""A log's name, and its bytes in pieces of any size."""


def read_log(files: Iterable[File], sought: LogQuery) -> Log:
    """Return one log from a job's files, those of several ranks or services together.

    Args:
        files: One or more; each is read once, from its beginning to its end.
        sought: The words that matter.
    """
    log = KeptLines(sought)
    names = [_read_file(log, name, chunks) for name, chunks in files]
    return log.done(tuple(names))


@dataclass(slots=True)
class _FileProgress:
    """What later windows of a file need to know of earlier ones.

    Attributes:
        members: The traceback that each line is part of, by the line's number.
        last: The line that was looked at last.
    """

    members: dict[int, Traceback] = field(default_factory=dict[int, Traceback])
    last: Line | None = None


def _read_file(log: KeptLines, name: str, chunks: Iterable[bytes]) -> str:
    """Read one file; return its name."""
    rank = _rank_in(name)
    file = _FileProgress()
    collector: re.Pattern[str] | None = None
    for window in windows(chunks):
        if not window.last:
            log.expect_many()
        if window.first and window.number == 1:
            collector = prefix_of(WindowLines(window, name, rank).texts())
        _read_window(log, WindowLines(window, name, rank, collector), file)
        if window.last:
            log.lines += window.number - window.data.endswith(b"\n")
            log.lines += feeds(window.data, window.start, len(window.data))
    return name


def _rank_in(name: str) -> int | None:
    """Return the rank that a log's name says wrote it; None if it names none."""
    match = RANK_IN_NAME.search(name)
    return int(match[1] or match[2]) if match else None


def _read_window(log: KeptLines, lines: WindowLines, file: _FileProgress) -> None:
    """Read one window's body."""
    window = lines.window
    if window.first:
        _read_head(log, lines)
    for position in _positions(log, window):
        _read_match(log, lines, position, file)
    _read_progress(log, lines)
    if window.last:
        _read_tail(log, lines)


def _positions(log: KeptLines, window: Window) -> list[int]:
    """Return where words begin in the body; of too many, the first and the last of each word."""
    body = memoryview(window.data)[window.start : min(len(window.data), window.end + log.longest)]
    size = window.end - window.start
    found = log.finder.find_matches_as_indexes(body)
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


def _read_match(log: KeptLines, lines: WindowLines, position: int, file: _FileProgress) -> None:
    """Read the line in which a word stands: a traceback's beginning, a step's metrics, or one that may decide."""
    line = lines.line_at(position)
    if line is file.last:
        return  # another word of the same line
    file.last = line
    if START in line.text:
        _read_traceback(log, lines, position, line, file)
    words = log.kept_words(line.text, _read_word(log, lines, position, line))
    if words or ERROR.match(line.text):
        traceback = file.members.get(line.number) or _headless(lines, position, line)
        _read_hit(log, lines, position, Hit(line=line, words=words, traceback=traceback))


def _read_hit(log: KeptLines, lines: WindowLines, position: int, hit: Hit) -> None:
    """Keep a line that may decide, with what stands around it; an exception without a signature's word is kept with its traceback."""
    traceback = hit.traceback
    if traceback and traceback.start.place in log.ignored:
        return
    if hit.words or traceback is None or hit.line in traceback.error:
        log.add_hit(replace(hit, around=lines.around(position, hit.line)))


def _read_word(log: KeptLines, lines: WindowLines, position: int, line: Line) -> frozenset[int]:
    """Read what a line says by itself: a step, another attempt, that a rank wrote; return which of the signatures' words it has."""
    found = log.words_in(line.text)
    metrics = [word for word in found if word >= log.not_finite]
    if metrics:
        _read_record(log, lines, position, line, is_odd=min(metrics) < log.steps)
    if is_restart(line.text):
        log.restarts.append(line)
    if line.rank is not None:
        log.ranks.add(line.rank)
    return frozenset(word for word in found if word < log.structure)


def _read_record(log: KeptLines, lines: WindowLines, position: int, line: Line, *, is_odd: bool) -> None:
    """Read the metrics of a step, which may stand in several lines; those with a value that is not finite are kept wherever they stand."""
    above, below = lines.before_by(line.writer, position), lines.behind_by(line.writer, position)
    begin, text = whole_record(line, above, below)
    if values := metrics_in(text):
        progress = _step_of_bar(lines.bar_behind(position) or line.bar)
        log.add_step(Metrics(line=begin, values=values, progress=progress), is_odd=is_odd)


def _read_traceback(log: KeptLines, lines: WindowLines, position: int, line: Line, file: _FileProgress) -> None:
    """Read a traceback and those that follow from it, unless it was read with the one before."""
    if line.number in file.members:
        return
    linked = read_chain(line, lines.behind_by(line.writer, position), lines.leading(position, line))
    file.members |= linked.members
    if _is_ignored(lines, position):
        log.ignored |= {part.start.place for part in linked.parts}
        return
    if not linked.last.error:
        log.cut.add("end")
    log.add_chain(linked)
    for part in linked.parts:
        _read_joined(log, part)


def _is_ignored(lines: WindowLines, position: int) -> bool:
    """True if Python itself ignored an exception, as in the last moments of a process."""
    before = next((each for _, each in lines.before(position) if each.text.strip()), None)
    return before is not None and "Exception ignored in" in before.text


def _headless(lines: WindowLines, position: int, line: Line) -> Traceback | None:
    """Return the traceback that ends in a line and whose beginning is missing; None if no frame stands before it."""
    if "Warning: " in line.text:
        return None
    before = lines.before_by(line.writer, position)
    if ANY_ERROR.match(line.text.lstrip()):
        error = [line, *message_below(lines.behind_by(line.writer, position))]
    else:
        error = message_above(line, before)
    return read_headless(error, before) if error else None


def _read_joined(log: KeptLines, traceback: Traceback) -> None:
    """Take an exception whose message was wrapped, if only its lines put together have a word."""
    if len(traceback.error) < 2:  # noqa: PLR2004 - two lines can be joined
        return
    joined = joined_error(traceback)
    words = log.signature_words(joined).difference(*(log.signature_words(line.text) for line in traceback.error))
    if words:
        line = replace(traceback.error[0], text=joined)
        log.hits.add(Hit(line=line, around=traceback.error[1:], words=words, traceback=traceback))


def _read_wrapped(log: KeptLines, lines: WindowLines, paragraph: Sequence[tuple[int, Line]]) -> None:
    """Read lines that were broken between words, if only several of them put together have a word.

    Args:
        log: What was found.
        lines: The window's.
        paragraph: Lines that follow one another, of one rank or source, each with where it begins.
    """
    texts = [line.text.strip() for _, line in paragraph]
    for part in _wrapped(texts):
        joined, words = _joined(log, texts[part])
        known = frozenset[int]().union(*map(log.signature_words, texts[part]))
        if words - known or (words and ERROR.match(joined)):
            position, line = paragraph[part.start]
            whole, around = replace(line, text=joined), lines.around(position, line)
            log.hits.add(Hit(line=whole, around=around, words=words, traceback=_headless(lines, position, line)))


def _wrapped(texts: Sequence[str]) -> Iterator[slice]:
    """Yield where several lines may be one that was broken between words."""
    for at in range(len(texts)):
        count = wrapped_together(texts[at : at + MOST_WRAPPED])
        if count > 1:
            yield slice(at, at + count)


def _joined(log: KeptLines, texts: Sequence[str]) -> tuple[str, frozenset[int]]:
    """Return lines put together, with or without spaces, and the signatures' words of the result: as have the most."""
    whole = [(text, log.signature_words(text)) for text in (" ".join(texts), "".join(texts))]
    return max(whole, key=lambda each: len(each[1]))


def joined_error(traceback: Traceback) -> str:
    """Return an exception and its whole message as one line."""
    return " ".join(line.text.strip() for line in traceback.error)


def _read_progress(log: KeptLines, lines: WindowLines) -> None:
    """Take how far the training's bar got in the body: the last ones may be those of saving."""
    window = lines.window
    for unit in (b"it/s]", b"s/it]"):
        end, step = window.end, None
        for _ in range(MOST_BARS):
            end = window.data.rfind(unit, window.start, end)
            if end < 0 or (step := _training_step(lines, end)):
                break
        if step:
            log.progress = max(step, log.progress or step)


def _training_step(lines: WindowLines, position: int) -> tuple[int, int] | None:
    """Return the step of a progress bar and its total, if it is that of training and not of loading, tokenizing or saving."""
    line = lines.line_at(position)
    return _step_of_bar(line.bar or line.text)  # what is glued to a bar, such as a traceback, is the line's text


def _step_of_bar(text: str) -> tuple[int, int] | None:
    """Return the step of a bar and its total, if it is that of training."""
    described = text.split("|", 1)[0].strip().rstrip("0123456789% ").rstrip(":")
    return step_in(text) if described.lower() in TRAINING_BARS else None


def _read_head(log: KeptLines, lines: WindowLines) -> None:
    """Read the first lines."""
    start = lines.window.start
    paragraph = [(start, lines.line_at(start)), *islice(lines.behind(start), EDGE)]
    if not lines.window.last:
        _read_wrapped(log, lines, paragraph)
    head = [line for _, line in paragraph if line.text.strip() and not is_bar(line.text)]
    log.head += head
    if _is_shortened(head):
        log.cut.add("beginning")


def _is_shortened(head: Sequence[Line]) -> bool:
    """True if a log's first lines are not the first that were written."""
    if head and FRAME_LINE.match(head[0].text):
        return True
    return any(SHORTENED.search(line.text) for line in head)


def _read_tail(log: KeptLines, lines: WindowLines) -> None:
    """Read the last lines of each rank and source, as far as the window reaches back."""
    last = _last_by_writer(lines)
    log.tail += sorted((line for kept in last.values() for _, line in kept), key=lambda line: line.number)
    for kept in last.values():
        _read_wrapped(log, lines, kept[::-1])
    log.ranks |= {rank for rank, _ in last if rank is not None}


def _last_by_writer(lines: WindowLines) -> Mapping[tuple[int | None, str], Sequence[tuple[int, Line]]]:
    """Return the last lines of each rank and source, the last one first, each with where it begins."""
    last: dict[tuple[int | None, str], list[tuple[int, Line]]] = {}
    for looked, (position, line) in enumerate(chain(lines.unfinished(), lines.before(len(lines.data)))):
        kept = last.setdefault(line.writer, [])
        if len(kept) < EDGE and line.text.strip():
            kept.append((position, line))
        if looked > EDGE * MOST_SOURCES:
            break
    return last
