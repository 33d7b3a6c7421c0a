"""Tracebacks as they stand in logs: plain, chained, of Jupyter and IPython, and in rich's boxes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from holdfast.core.diagnose.log import ExceptionLink, Frame, Line, Traceback
from holdfast.engine.diagnose.cleaning import is_bar

START: Final = "Traceback (most recent call last)"
FRAME: Final = re.compile(r'^\s*(?:│\s*)?File "([^"]*)", line (\d+)(?:, in(?: (.+?))?)?\s*$')
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
BLANKS: Final = frozenset({"", '"""', "'''"})
"""Lines that say nothing: blank ones, and quotes around a log that was pasted."""
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


def read_chain(start: Line, behind: Iterator[Line], leading: tuple[Line, ...]) -> Chain:
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

    def next_lines(self, most: int) -> Iterator[Line]:
        """Yield the next lines, up to a number of them."""
        for _ in range(most):
            if (line := self.take()) is None:
                return
            yield line


def _read_one(start: Line, ahead: _Ahead) -> PartialTraceback:
    reading = _begun(start)
    step = _step_boxed if reading.boxed else _step_jupyter if reading.name else _step
    while (line := ahead.take()) is not None:
        if START in line.text or not step(reading, line):
            ahead.give_back(line)
            break
        reading.seen.append(line)
    return reading


def _begun(start: Line) -> PartialTraceback:
    """Return a traceback of which the first line was read: what stands before it tells of which kind it is."""
    before, _, after = start.text.partition(START)
    reading = PartialTraceback(start, boxed=BOX.search(before) is not None)
    if not before.strip():
        reading.indent = len(before)
    elif not after.startswith(":") and not reading.boxed:
        reading.name = before.split()[-1]
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
    if reading.frames and not reading.apart:
        return None
    short = _short_frame(text)
    reading.apart |= short is not None
    return short


def _short_frame(text: str) -> Frame | None:
    short = SHORT_FRAME.match(text)
    if short is None:
        return None
    return Frame(short["file"] or short["cell"], int(short["line"] or short["at"]), short["function"] or "<module>")


def _goes_on(reading: PartialTraceback, line: Line, text: str, frame: Frame | None) -> bool:
    """Read a line before the exception; tell whether it is still part of the traceback."""
    if frame:
        reading.frames.append(replace(frame, named_at=line))
        reading.depth = _indent(text)
    elif _indent(text) < reading.depth and ERROR.match(text.strip()):
        reading.error.append(replace(line, text=text.strip()))
    elif text.startswith((" ", "\t", "^", "~")):
        _add_code(reading, text.strip())
    elif not is_bar(text):
        return _goes_on_flush(reading, line, text)
    return True


def _goes_on_flush(reading: PartialTraceback, line: Line, text: str) -> bool:
    """Read a line that is not indented: the exception, or something else that was written there."""
    if ERROR.match(text) or (reading.frames and ANY_ERROR.match(text)):
        reading.error.append(line)
        return True
    return bool(ENDS_MESSAGE.match(text)) or len(reading.frames) > 0


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _add_code(reading: PartialTraceback, code: str) -> None:
    if reading.frames and not reading.frames[-1].code and code.strip("^~ "):
        reading.frames[-1] = replace(reading.frames[-1], code=code)


def _continues(reading: PartialTraceback, line: Line, text: str) -> bool:
    """Read a line of the message, which may have several; a blank one, or what is no message, ends it."""
    if ends_message(text) or len(reading.error) >= MESSAGE_LINES:
        return False
    reading.error.append(line)
    return True


def ends_message(text: str) -> bool:
    """True if a line is no part of an exception's message."""
    return not text.strip() or ENDS_MESSAGE.match(text) is not None or is_bar(text) or text.startswith('"""')


def _step_boxed(reading: PartialTraceback, line: Line) -> bool:
    text = line.text.strip()
    if any(seen.text.lstrip().startswith("╰") for seen in reading.seen):
        return _continues(reading, line, text)
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
    elif frame := cell_frame(text):
        reading.frames.append(replace(frame, named_at=line))
    elif arrow := ARROW.match(text):
        _add_running(reading, arrow)
    return True


def _add_running(reading: PartialTraceback, arrow: re.Match[str]) -> None:
    """Add the line of a cell that was being run to its frame."""
    _add_code(reading, (arrow[2] or "").strip())
    if reading.frames and not reading.frames[-1].line:
        reading.frames[-1] = replace(reading.frames[-1], line=int(arrow[1]))


def cell_frame(text: str) -> Frame | None:
    """Return the frame that a line of IPython's is; None of another line.

    >>> cell_frame("[/usr/x.py](https://localhost:8080/#) in train(self, **kwargs)")
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
    for line in ahead.next_lines(GAP):
        skipped.append(line)
        link = link or _link_in(line.text)
        if link is None:
            if line.text.strip() not in BLANKS:
                break
        elif START in line.text:
            links.append(link)
            return line
    ahead.give_back(*skipped)
    return None


def _link_in(text: str) -> ExceptionLink | None:
    """Return the link of two exceptions by what Python writes between them; None of another line."""
    return next((link for sentence, link in LINKS.items() if sentence in text), None)


def _chain(parts: list[PartialTraceback], links: list[ExceptionLink]) -> Chain:
    done: list[Traceback] = []
    for at, part in enumerate(parts):
        earlier = tuple((done[before], links[before]) for before in range(at))
        done.append(replace(part.done(), earlier=earlier))
    lines = tuple((part.start, *part.seen) for part in parts)
    return Chain(done[-1], tuple(done), lines, lines[-1][-1].number)
