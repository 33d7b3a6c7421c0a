"""The lines that speak for a cause: those that match, and those that a person would read with them."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Final

from holdfast.core.diagnose.diagnosis import Evidence
from holdfast.core.diagnose.log import Hit, Line
from holdfast.engine.diagnose.candidates import Candidate
from holdfast.engine.diagnose.cleaning import is_bar
from holdfast.engine.diagnose.log_context import TEARDOWN, is_exception
from holdfast.engine.diagnose.matching import Match
from holdfast.engine.diagnose.owners import users_frame
from holdfast.engine.diagnose.tracebacks import ERROR, FRAME, LINKS, START

MOST: Final = 12
MESSAGE: Final = 4
"""Most lines of a message that are shown."""
ERRORS: Final = 2
"""Other exceptions right beside the decisive one."""
CODE: Final = re.compile(r'^\s+\S|^\S*", line \d+, in ')
"""A line of a traceback before its exception."""
GOES_ON: Final = re.compile(
    r"^(?!srun|slurmstepd|wandb|\s*warnings\.warn|huggingface/|\s*[\d%|█ ]+\||\s*rank\s*:|\{'|[a-z_.\-]+: (?<!hint: )(?<!note: ))"
    r"(?:\s+\S|[a-z(`'\"]|\d{3} (?:Client )?[Ee]rror|CUDA kernel errors|For debugging|Compile with|If |Make sure|Please|This |But |You "
    r"|Check |Last error|ncclSystem)"
)
"""A line that a message goes on with."""
SPEAKER: Final = re.compile(
    r"^(?:(?:DEBUG|INFO|WARNING|ERROR)\s*[:|]\s*)?([A-Za-z][\w\-]*(?:\.\w+)*)\s*[:|]|^(\[\d+\]) "
)
"""Who says a line: `wandb:`, `remote:`, `WARNING:hf-to-gguf:`."""
BETWEEN: Final = re.compile(r"Warning: |^\s*warnings\.warn\(|^\{'|^huggingface/tokenizers: ")
"""What another rank, without a prefix, may have written in the midst of it."""
SAME: Final = 40
"""Characters of a message by which it is known again."""
SLURM: Final = frozenset({"srun", "slurmstepd"})
CARETS: Final = " ^~"
"""What Python puts under the part of a line that raised."""
USERS: Final = "user"
"""The phase of what is wrong in the user's own code."""
UNFINISHED: Final = re.compile(r"^\s*[A-Z][^|]{2,}?\s\d?\d%\|")
"""A bar of something named that did not come to its end."""


def evidence_of(candidate: Candidate) -> Iterator[Evidence]:
    """Yield the lines that speak for a cause, each once: the decisive one first, then the user's own, if there is one."""
    seen: set[tuple[str, int]] = set()
    matching = _matching(candidate)
    for line in chain(islice(matching, 1), _users(candidate), matching, _beside(candidate)):
        if line.place not in seen and len(seen) < MOST and line.text.strip(CARETS):
            seen.add(line.place)
            yield Evidence(path=line.path, line=line.number, text=line.text.strip(), rank=line.rank)


def _matching(candidate: Candidate) -> Iterator[Line]:
    """Yield the lines that match, one of each kind: the same said by every rank is evidence once."""
    if candidate.decisive:
        raised = candidate.decisive.hit.traceback
        if candidate.decisive.is_source and raised:
            yield from raised.error[:1]  # what was raised says more than the code it came from
        yield candidate.decisive.line
        yield from _message(candidate.decisive)
    shown: set[str] = set()
    for match in candidate.matches:
        text = re.sub(r"\d+", "#", match.line.text.strip())
        if text not in shown:
            shown.add(text)
            yield match.line
    if candidate.silent:
        yield from candidate.silent.lines
    if candidate.exception:
        yield from candidate.exception.error[:MESSAGE]


def _users(candidate: Candidate) -> Iterator[Line]:
    """Yield the line of the log that names the innermost frame of the user's own code, where there is one: what a person can change."""
    hits = (match.hit for match in (candidate.decisive, *candidate.matches) if match)
    tracebacks = [candidate.exception, *(hit.traceback for hit in hits)]
    frames = next((each.frames for each in tracebacks if each and each.frames), ())
    frame = users_frame(frames)
    if frame and frame.named_at:
        yield frame.named_at


def _message(match: Match) -> Iterator[Line]:
    """Yield the lines of an exception's message, if the sign is part of it."""
    error = match.hit.traceback.error if match.hit.traceback else ()
    if any(line.number == match.line.number for line in error):
        yield from error[:MESSAGE]


def _beside(candidate: Candidate) -> Iterator[Line]:
    """Yield the lines that a decisive one belongs to: the code that raised it, and what its message goes on with."""
    if candidate.decisive:
        yield from _before(candidate.decisive.hit)
        yield from _behind(candidate.decisive.hit)


def _before(hit: Hit) -> Iterator[Line]:
    """Yield the code of the last frame, and an exception that announces the line or was raised right before it."""
    for line in _until_too_many_errors(line for line in reversed(_own(hit)) if line.number < hit.line.number):
        if not _leads_to(line, hit.line):
            return
        yield line
        if _is_outermost(line, hit):
            return


def _leads_to(line: Line, decisive: Line) -> bool:
    """True if a line above the decisive one belongs to it."""
    if is_bar(line.text):
        return UNFINISHED.match(line.text) is not None
    return CODE.match(line.text) is not None or _is_another(line) or _is_near(line, decisive)


def _is_outermost(line: Line, hit: Hit) -> bool:
    """True if nothing above a line belongs to the decisive one: it is a bar, or the last frame of a whole traceback."""
    is_whole = hit.traceback is not None and START in hit.traceback.start.text
    return is_bar(line.text) or (is_whole and FRAME.match(line.text) is not None)


def _behind(hit: Hit) -> Iterator[Line]:
    """Yield the lines that continue the message, and the last progress bar, which shows the step."""
    before = hit.line
    for line in _until_too_many_errors(line for line in _own(hit) if line.number > hit.line.number):
        if not _continues(line, before, hit):
            return
        yield line
        if is_bar(line.text):
            return
        before = line


def _continues(line: Line, before: Line, hit: Hit) -> bool:
    """True if a line goes on with what the line before it says of the decisive one."""
    if (is_bar(line.text) and is_exception(hit)) or before.text.rstrip().endswith(":"):
        return True
    return _is_another(line) or _is_near(line, hit.line) or GOES_ON.match(line.text) is not None


def _until_too_many_errors(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield lines until more than `ERRORS` other exceptions were met, without what another rank may have written between."""
    errors = 0
    for line in lines:
        if not BETWEEN.search(line.text):
            errors += _is_another(line)
            if errors > ERRORS:
                return
            yield line


def _own(hit: Hit) -> list[Line]:
    """Return the lines around one that the same rank and source wrote."""
    return [line for line in hit.around if line.writer == hit.line.writer]


def _is_another(line: Line) -> bool:
    return ERROR.match(line.text) is not None and not TEARDOWN.search(line.text)


def _is_near(line: Line, decisive: Line) -> bool:
    """True if a line links exceptions, says the same again, or is said by the same program as the decisive one."""
    message = decisive.text.partition(": ")[2][:SAME]
    if any(link in line.text for link in LINKS) or (len(message) == SAME and message in line.text):
        return True
    spoken = speaker(decisive.text)
    return spoken != "" and speaker(line.text) == spoken


def speaker(text: str) -> str:
    """Return the program that says a line, as it names itself; empty if it does not, or names an exception.

    >>> speaker("wandb:     loss nan"), speaker("srun: error: x"), speaker("INFO:hf-to-gguf:blk"), speaker("ValueError: x")
    ('wandb', 'slurm', 'hf-to-gguf', '')
    """
    found = SPEAKER.match(text)
    if found is None or ERROR.match(text):
        return ""
    name = found[1] or found[2]
    return "slurm" if name in SLURM else name
