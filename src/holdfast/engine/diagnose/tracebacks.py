"""Tracebacks as they stand in logs: plain, chained, of Jupyter and IPython, and in rich's boxes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, takewhile
from typing import Final

from holdfast.core.log import ExceptionLink, Frame, Line, Traceback
from holdfast.engine.diagnose.cleaning import is_bar

START: Final = "Traceback (most recent call last)"
FRAME: Final = re.compile(r'^\s*(?:│\s*)?File "([^"]*)", line (\d+)(?:, in(?: (.+?))?)?\s*$')
CUT_FRAME: Final = re.compile(r'(?:^\s*File ")?([^"\s]*)", line (\d+)(?:, in (\S.*?)?)?\s*$')
"""A frame of which the beginning may be missing too."""
CELL_FRAME: Final = re.compile(
    r"^(?:File (?P<file>\S+?):(?P<line>\d+)(?:, in (?P<function>\S.*))?|(?P<test>\S+\.py):(?P<row>\d+): in (?P<called>\S+)|(?:Cell |Input )(?P<cell>In\s?\[\d+\])(?:, line (?P<at>\d+))?(?:, in (?P<of>\S.*))?"
    r"|(?P<path>\S+\.py|<ipython-input-\S+>|<string>) in (?P<name>[\w<].*))$"
)
"""A frame of IPython: `File x.py:3, in f(a)`, `Cell In[3], line 5`, `x.py in f(a)` of the older ones; `x.py:3: in f` of pytest."""
SHORT_FRAME: Final = re.compile(
    r"^\s+(?:File (?P<file>\S+?):(?P<line>\d+)(?: in (?P<function>\S+))?|Cell (?P<cell>In\[\d+\]), line (?P<at>\d+))\s*$"
)
"""A frame as IPython writes it where Python cannot read a file (`SyntaxError`), a blank line before each."""
LINKED: Final = re.compile(r"\[([^\]\[]+)\]\((?:https?|vscode|file)[^)\s]*\)")
"""A link as notebooks write it, around the file of a frame: `[/usr/x.py](https://localhost:8080/#)`."""
ARROW: Final = re.compile(r"^-+> ?(\d+)(?: (.*))?$")
"""The line of a cell, or of a file, that was being run."""
LISTED: Final = re.compile(r"^\s*\d+(?:\s|$)")
"""A line beside it."""
RICH_FRAME: Final = re.compile(r"^(\S+):(\d+) in (\S+)$")
ERROR: Final = re.compile(
    r"^(?:[A-Za-z_][\w]*\.)*(?:[A-Z_][A-Za-z_]*(?:Error|Exception|Interrupt|Exit|Traceback|Timeout|Abort|Failed|Fault|Died|Group"
    r"|NotFound|Invalid|Iteration|OutOfMemory)|[A-Za-z_]\w*Error|Empty|Full|error|timeout|gaierror|herror)\b"
)
ANY_ERROR: Final = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w+(?:: |$)")
LINKS: Final[dict[str, ExceptionLink]] = {
    "During handling of the above exception, another exception occurred": "context",
    "The above exception was the direct cause of the following exception": "cause",
}
REMOTE: Final = ": ray::"
"""In an exception of Ray's: what follows is the traceback of the worker, without a beginning of its own."""
BOX: Final = re.compile("[─╭]")
MESSAGE_LINES: Final = 12
"""Lines of a message that are read: what stands behind them is data."""
GAP: Final = 6
"""Lines between an exception and the one that followed from it, blank ones and quotes among them."""
LEADING: Final = 4
"""Lines before a traceback that stand around what it ends in."""
MOST_STRANGE: Final = 2
"""Lines that others may have written between two lines of a traceback whose beginning is missing."""
LONGEST: Final = 4000
"""Lines of one traceback."""
ENDS_MESSAGE: Final = re.compile(
    r"^(?:\S+\.py:\d+: \w*Warning: |\[(?:transformers|trl|peft|accelerate|datasets)\] |\{'|=====|-----|\d{4}-\d\d-\d\d|[WEIF]\d{4} |\[\w+\d* ?\d|(?:INFO|WARNING|ERROR|DEBUG)[: ]|wandb: "
    r"|srun: |slurmstepd: |Exception ignored in|During handling|The above exception|SCRIPT )"
)


@dataclass(slots=True)
class PartialTraceback:
    """A traceback that is being read."""

    start: Line
    boxed: bool = False
    name: str = ""
    indent: int = 0
    depth: int = 0
    apart: bool = False
    frames: list[Frame] = field(default_factory=list[Frame])
    error: list[Line] = field(default_factory=list[Line])
    before: tuple[Line, ...] = ()
    seen: list[Line] = field(default_factory=list[Line])

    def done(self) -> Traceback:
        """Return the traceback read so far."""
        return Traceback(start=self.start, frames=tuple(self.frames), error=tuple(self.error), before=self.before)


@dataclass(frozen=True, slots=True)
class Chain:
    """Tracebacks of which one followed from another.

    Attributes:
        last: The one that was raised last; it has the others.
        parts: All of them, the first raised first.
        lines: The lines of each.
        end: Number of the last line that was read.
    """

    last: Traceback
    parts: tuple[Traceback, ...]
    lines: tuple[tuple[Line, ...], ...]
    end: int

    @property
    def members(self) -> dict[int, Traceback]:
        """The traceback that each line is part of, by the line's number."""
        parts = zip(self.parts, self.lines, strict=True)
        return {line.number: part for part, lines in parts for line in lines}


def read_chain(start: Line, behind: Iterator[Line], leading: tuple[Line, ...] = ()) -> Chain:
    """Return the traceback that begins in a line, with those that followed from it.

    Args:
        start: The line with `Traceback (most recent call last)`.
        behind: The lines after it of the same rank.
        leading: Those right before it.
    """
    parts: list[PartialTraceback] = []
    links: list[ExceptionLink] = []
    before, _, after = start.text.partition(START)
    is_prefix = before.strip() and after.startswith(":") and not BOX.search(before)
    ahead = _Ahead(behind, before if is_prefix else "")
    at: Line | None = start
    while at is not None:
        part = _read_one(at, ahead)
        parts.append(part)
        at = _next_of_chain(ahead, links)
    parts[0].before = leading
    return _chain(parts, links)


def read_headless(error: Sequence[Line], before: Iterator[Line]) -> Traceback | None:
    """Return the frames that stand right before an exception, in a log that was cut above them; None if there are none.

    Args:
        error: The exception and what of its message was read.
        before: The lines before it of the same rank, the nearest first.
    """
    upwards = _Upwards(error)
    above: list[Line] = []
    for line in before:
        above = [*above, line]
        if not upwards.take(line):
            break
        if upwards.reading.start is line:
            above = []
    found = upwards.done()
    if found is None:
        return None
    leading = [line for line in (*above, *islice(before, LEADING)) if line.text.strip()][:LEADING]
    return replace(found, before=tuple(reversed(leading)))


class _Upwards:
    """A traceback that is read from its exception to its beginning."""

    def __init__(self, error: Sequence[Line]) -> None:
        self.reading = PartialTraceback(error[0], error=list(error))
        self.code, self.at = "", 0
        self.is_apart = False
        self.strange = 0

    def take(self, line: Line) -> bool:
        """Read the line above; tell whether it may be part of the traceback."""
        text = line.text
        frame = self._frame(text)
        if frame:
            self.reading.frames.insert(0, replace(frame, named_at=line))
            self.code, self.at, self.strange = "", 0, 0
        elif arrow := ARROW.match(text):
            self.code, self.at = (arrow[2] or "").strip(), int(arrow[1])
        elif not text.strip():
            return self._is_gap()
        elif text[0] in " \t":
            self._add_code(text)
        else:
            return self._is_between(text)
        self.reading.start = line
        return True

    def done(self) -> Traceback | None:
        """Return the traceback read so far."""
        if self.code and not self.reading.frames and not (self.is_apart or self.strange):
            self.reading.frames.append(Frame("", 0, "", self.code))
        return self.reading.done() if self.reading.frames else None

    def _frame(self, text: str) -> Frame | None:
        if found := CUT_FRAME.search(text):
            return None if self.is_apart else Frame(found[1], int(found[2]), found[3] or "<module>", self.code)
        cell = _cell_frame(text)
        return replace(cell, line=cell.line or self.at, code=self.code) if cell else None

    def _add_code(self, text: str) -> None:
        if not self.at and text.strip("^~ ") and not (self.is_apart and LISTED.match(text)):
            self.code = text.strip()

    def _is_gap(self) -> bool:
        """True if a blank line may stand there: between the frames of notebooks, and behind them."""
        apart, self.is_apart = self.is_apart, True
        return not self.code and (not apart or bool(self.reading.frames))

    def _is_between(self, text: str) -> bool:
        """True if a line is what somebody else wrote into it."""
        self.strange += 1
        return self.strange <= MOST_STRANGE and not ANY_ERROR.match(text) and START not in text


def message_above(line: Line, before: Iterator[Line]) -> list[Line]:
    """Return the lines of an exception's message down to one of them, the exception itself first; none of another line.

    Args:
        line: A later line of the message.
        before: The lines before it of the same rank, the nearest first; read up to the exception.
    """
    message = [line]
    for each in islice(before, MESSAGE_LINES):
        message.insert(0, each)
        if ERROR.match(each.text.lstrip("> ")):
            return message
        if _ends_message(each.text) or START in each.text or FRAME.match(each.text):
            break
    return []


def message_below(behind: Iterator[Line]) -> list[Line]:
    """Return the lines with which an exception's message goes on.

    Args:
        behind: The lines behind the exception of the same rank.
    """
    within = takewhile(lambda line: not (_ends_message(line.text) or _begins_another(line.text)), behind)
    return list(islice(within, MESSAGE_LINES - 1))


def _begins_another(text: str) -> bool:
    return START in text or any(each.match(text.lstrip("> ")) for each in (ERROR, FRAME))


class _Ahead:
    """Lines, of which the last ones taken can be given back.

    Attributes:
        taken: How many were.
        prefix: What some collector puts before each of them, as before the traceback itself.
    """

    def __init__(self, lines: Iterator[Line], prefix: str) -> None:
        self.prefix = prefix
        self._lines, self._back = lines, list[Line]()
        self.taken = 0

    def take(self) -> Line | None:
        """Return the next line, without the prefix; None at the end."""
        self.taken += 1
        if self._back:
            return self._back.pop()
        line = next(self._lines, None) if self.taken < LONGEST else None
        if line and self.prefix and line.text.startswith(self.prefix.rstrip()):
            return replace(line, text=line.text[len(self.prefix) :])
        return line

    def give_back(self, *lines: Line) -> None:
        """Let some lines be taken again."""
        self._back.extend(reversed(lines))


def _read_one(start: Line, ahead: _Ahead) -> PartialTraceback:
    before, _, after = start.text.partition(START)
    reading = PartialTraceback(
        start, boxed=BOX.search(before) is not None, indent=len(before) if not before.strip() else 0
    )
    if before.strip() and not after.startswith(":") and not reading.boxed:
        reading.name = before.split()[-1]
    step = _step_boxed if reading.boxed else _step_jupyter if reading.name else _step
    while (line := ahead.take()) is not None:
        if START in line.text or not step(reading, line):
            ahead.give_back(line)
            break
        reading.seen.append(line)
    return reading


def _step(reading: PartialTraceback, line: Line) -> bool:
    """Read the next line; tell whether it is still part of the traceback."""
    text = line.text[reading.indent :] if not line.text[: reading.indent].strip() else line.text
    found = _frame(reading, text)
    if found and reading.error and REMOTE in reading.error[0].text:
        reading.frames, reading.error = [], []  # what was raised elsewhere, and is shown here
    if reading.error:
        return _continues(reading, line, text)
    return _goes_on(reading, line, text, found) if text.strip() else reading.apart or not reading.frames


def _frame(reading: PartialTraceback, text: str) -> Frame | None:
    """Return the frame that a line of a plain traceback is, of Python's or of IPython's short kind; None of another line."""
    if found := FRAME.match(text):
        return Frame(found[1], int(found[2]), found[3] or "<module>")
    if not (reading.apart or not reading.frames) or not (short := SHORT_FRAME.match(text)):
        return None
    reading.apart = True
    return Frame(short["file"] or short["cell"], int(short["line"] or short["at"]), short["function"] or "<module>")


def _goes_on(reading: PartialTraceback, line: Line, text: str, frame: Frame | None) -> bool:
    """Read a line before the exception; tell whether it is still part of the traceback."""
    if frame:
        reading.frames.append(replace(frame, named_at=line))
        reading.depth = _indent(text)
    elif _indent(text) < reading.depth and ERROR.match(text.strip()):
        reading.error.append(replace(line, text=text.strip()))
    elif text[0] in " \t" or text.startswith(("^", "~")):
        _add_code(reading, text.strip())
    elif is_bar(text):
        return True
    elif ERROR.match(text) or (reading.frames and ANY_ERROR.match(text)):
        reading.error.append(line)
    else:
        return _is_strange(reading, text)
    return True


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _is_strange(reading: PartialTraceback, text: str) -> bool:
    """True if a line that is neither a frame nor an error may stand within a traceback: something else was written there."""
    return bool(ENDS_MESSAGE.match(text)) or len(reading.frames) > 0


def _add_code(reading: PartialTraceback, code: str) -> None:
    if reading.frames and not reading.frames[-1].code and code.strip("^~ "):
        reading.frames[-1] = replace(reading.frames[-1], code=code)


def _continues(reading: PartialTraceback, line: Line, text: str) -> bool:
    """Read a line of the message, which may have several; a blank one, or what is no message, ends it."""
    if _ends_message(text) or len(reading.error) >= MESSAGE_LINES:
        return False
    reading.error.append(line)
    return True


def _ends_message(text: str) -> bool:
    return not text.strip() or ENDS_MESSAGE.match(text) is not None or is_bar(text) or text.startswith('"""')


def _step_boxed(reading: PartialTraceback, line: Line) -> bool:
    text = line.text.strip()
    if not reading.seen and not text:
        return True
    closed = any(seen.text.lstrip().startswith("╰") for seen in reading.seen)
    if closed:
        return _continues(reading, line, text) if reading.error or text else False
    if found := RICH_FRAME.match(text) or _wrapped_frame(reading, text):
        reading.frames.append(Frame(found[1], int(found[2]), found[3], named_at=line))
    elif text.startswith("❱"):
        _add_code(reading, re.sub(r"^❱\s*\d+\s*│?\s*", "", text))
    return True


def _wrapped_frame(reading: PartialTraceback, text: str) -> re.Match[str] | None:
    """Return the frame that a line of a box ends, if the box was too narrow for it; None of another line."""
    above = reading.seen[-1].text.strip() if reading.seen else ""
    return RICH_FRAME.match(above + text) if "/" in above and " " not in above else None


def _step_jupyter(reading: PartialTraceback, line: Line) -> bool:
    text = line.text
    if reading.error:
        return _continues(reading, line, text)
    if text.startswith(f"{reading.name}:") or text == reading.name:
        reading.error.append(line)
    elif frame := _cell_frame(text):
        reading.frames.append(replace(frame, named_at=line))
    elif arrow := ARROW.match(text):
        _add_code(reading, (arrow[2] or "").strip())
        if reading.frames and not reading.frames[-1].line:
            reading.frames[-1] = replace(reading.frames[-1], line=int(arrow[1]))
    return True


def _cell_frame(text: str) -> Frame | None:
    """Return the frame that a line of IPython's is; None of another line.

    >>> _cell_frame("[/usr/x.py](https://localhost:8080/#) in train(self, **kwargs)")
    Frame(file='/usr/x.py', line=0, function='train', code='')
    """
    if " in " not in text and " In" not in text and not text.startswith("File "):
        return None
    found = CELL_FRAME.match(LINKED.sub(r"\1", text))
    if found is None:
        return None
    function = found["function"] or found["of"] or found["name"] or found["called"] or "<module>"
    file = found["file"] or found["cell"] or found["path"] or found["test"]
    return Frame(file, int(found["line"] or found["at"] or found["row"] or 0), function.split("(")[0])


def _next_of_chain(ahead: _Ahead, links: list[ExceptionLink]) -> Line | None:
    """Return the line with which the next traceback of the chain begins; None if none follows."""
    skipped: list[Line] = []
    link: ExceptionLink | None = None
    while len(skipped) < GAP and (line := ahead.take()) is not None:
        text = line.text.strip()
        link = link or next((LINKS[sentence] for sentence in LINKS if sentence in text), None)
        if START in text and link:
            links.append(link)
            return line
        if START in text or (text and not link and text not in ('"""', "'''")):
            skipped.append(line)
            break
        skipped.append(line)
    ahead.give_back(*skipped)
    return None


def _chain(parts: list[PartialTraceback], links: list[ExceptionLink]) -> Chain:
    done: list[Traceback] = []
    for at, part in enumerate(parts):
        earlier = tuple((done[before], links[before]) for before in range(at))
        done.append(replace(part.done(), earlier=earlier))
    lines = tuple((part.start, *part.seen) for part in parts)
    return Chain(done[-1], tuple(done), lines, lines[-1][-1].number)
