"""A sentence that was cut off, recognized by how those begin that signatures have seen whole.

    begun = Beginnings(all_signatures())
    begun.find(log)

Excerpts, narrow consoles and writers that crash end within a line, before the words that a pattern asks for. Such a beginning tells its class
where it is long enough, and no other class has a line that begins so; less surely than the whole would.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from holdfast.core.diagnose.diagnosis import Signature
from holdfast.core.diagnose.log import Line, Log
from holdfast.engine.diagnose.metric_history import ClassEvidence
from holdfast.engine.diagnose.tracebacks import ERROR

SHORTEST: Final = 28
"""Characters of a beginning from which it is no chance that another begins so."""
LONGEST: Final = 400
"""Characters at the end of a line that are compared."""
WEIGHT: Final = 0.65
VALUES: Final = ((re.compile(r"(?<![\w.])/[\w./-]*"), "/"), (re.compile(r"\d+(?:\.\d+)?"), "0"))
"""What differs from job to job, by what stands for it: paths, numbers. What is quoted decides: a name, a setting."""
WORD: Final = re.compile(r"(?<![\w.])\w")
CUT: Final = re.compile(r"\s*(?:\.{3}|…)?\s*$")
ON: Final = re.compile(r"\w|\s+[\w'\"`(\[{]|(?<=\s)\S")
"""How a sentence goes on that had not come to its end; what comes after a comma or a full stop is another release's addition."""


class MatchedLine(NamedTuple):
    """A line that a signature has seen: without its values, as it is, and whose."""

    plain: str
    line: str
    signature: Signature


class LinePrefixes:
    """How the lines begin that signatures have seen."""

    def __init__(self, signatures: Sequence[Signature]) -> None:
        self.signatures = signatures

    @cached_property
    def _lines(self) -> list[MatchedLine]:
        seen = ((line, each) for each in self.signatures for text in each.seen for line in text.splitlines())
        return [MatchedLine(plain(line), line, signature) for line, signature in seen]

    def find(self, log: Log) -> list[ClassEvidence]:
        """Return the classes that lines of a log begin to tell of."""
        found = {name: line for line in _ends(log) if (name := self._class_of(line.text))}
        return [ClassEvidence(name=name, weight=WEIGHT, lines=(line,), explains=True) for name, line in found.items()]

    def _class_of(self, text: str) -> str:
        """Return the only class that decides by a line which goes on where this one ends; empty if there is none."""
        cut = plain(CUT.sub("", text[-LONGEST:]))
        starts = [found.start() for found in WORD.finditer(cut) if len(cut) - found.start() >= SHORTEST]
        kept: Sequence[MatchedLine] = ()
        for start in reversed(starts):  # what does not go on from a few words does not from more
            longer = [each for each in kept or self._lines if _goes_on(each.plain, cut[start:])]
            if not longer:
                break
            kept = longer
        names = {each.signature.name for each in kept if _decides(each)}
        return names.pop() if len(names) == 1 else ""


def plain(text: str) -> str:
    """Return a line without its values.

    >>> plain("OSError: /job/out has 12 files of 'me'")
    "OSError: / has 0 files of 'me'"
    """
    for values, stands in VALUES:
        text = values.sub(stands, text)
    return text.strip()


def _goes_on(text: str, begun: str) -> bool:
    """True if a sentence has a beginning in it, and goes on from there."""
    at = text.find(begun)
    return at >= 0 and ON.match(text, at + len(begun)) is not None


def _decides(matched: MatchedLine) -> bool:
    return any(
        re.search(pattern.line, matched.line) for pattern in matched.signature.patterns if pattern.role == "root"
    )


def _ends(log: Log) -> Iterable[Line]:
    """Return the lines that may have been cut: those with which something ends, other than a training that ended."""
    if any("train_runtime" in step.values for step in log.metrics):
        return ()
    errors = [line for last in log.tracebacks for line in last.error[:1]]
    return (*errors, *(line for line in log.tail if ERROR.match(line.text)), *log.tail[-1:])
