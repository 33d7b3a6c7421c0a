"""A guess at what a log is about that no signature matches, by the words of the lines that speak of a failure.

Such an answer is a guess, never sure enough to be called the cause. It shows at least the lines where a person would begin to read.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from holdfast.core.diagnose.diagnosis import HEALTHY, NOT_IN_LOG
from holdfast.core.diagnose.log import Line, Log, Traceback
from holdfast.engine.diagnose.alike import Likeness
from holdfast.engine.diagnose.candidates import Candidate
from holdfast.engine.diagnose.log_context import TEARDOWN, read_log_context, survived
from holdfast.engine.diagnose.matching import Match, PatternIndex
from holdfast.engine.diagnose.metric_history import ClassEvidence
from holdfast.engine.diagnose.raised import exceptions_of
from holdfast.engine.diagnose.reading import joined_error
from holdfast.engine.diagnose.unknown_exceptions import USER_CODE

TELLS_NOTHING: Final = frozenset({HEALTHY, NOT_IN_LOG})
"""Classes of what good runs write too, and of what only follows from a cause: a line that is most like theirs is passed over."""
LEAST: Final = 0.2
MOST: Final = 0.45
"""Scores of a class that is as likely as the next one, and of one that is twice as likely. Of texts which signatures had yet to see, and that nothing
else was said of, 26 of 121 were of the class that was guessed with 0.2 to 0.25, and 74 of 148 of that with 0.45."""
CLOSE: Final = 0.75
"""Share of the first class' likeness from which another one is shown too."""
MOST_GUESSES: Final = 2
LOUD: Final = re.compile(
    r"(?i)error|exception|fatal|fail|abort|crash|kill|corrupt|cannot|can't|unable|could(?: not|n't)|do(?:es)?(?: not|n't)|did(?: not|n't)|not found|no such"
    r"|missing|mismatch|unexpected|invalid|unsupported|not supported|incompatible|denied|refused|disabled|exceed|timed? ?out|out of|no space|too (?:large|long|small|many)"
    r"|\bmust\b|\brequires?\b|only supports?"
)
"""Words of lines that tell of something that went wrong."""
QUIET: Final = re.compile(r"Warning: |warnings\.warn\(|\b(?:DEBUG|INFO)\b|To enable traceback see")


class SimilarClass(NamedTuple):
    """A class that lines are like: how much all of them are, and the one that is the most."""

    name: str
    score: float
    line: Line


def guess(log: Log, matches: Iterable[Match], patterns: PatternIndex) -> list[Candidate]:
    """Return the classes that the lines of a log which speak of a failure are most like, the likeliest first.

    Args:
        log: What was read.
        matches: Its lines that match a pattern.
        patterns: The signatures'.
    """
    echoes = {
        match.line.place for match in matches if match.pattern.role == "echo" or match.signature.name in TELLS_NOTHING
    }
    alike = _alike(_loud(log, echoes), patterns.likeness)
    if not alike:
        return []
    known = {each.name: each for each in patterns.signatures}
    most, sure = alike[0].score, _score_of_first(alike)
    return [
        Candidate(
            signature=known[each.name],
            score=sure * each.score / most,
            silent=ClassEvidence(name=each.name, weight=sure, lines=(each.line,)),
            is_guess=True,
        )
        for each in alike[:MOST_GUESSES]
        if each.score >= CLOSE * most
    ]


def _score_of_first(alike: Sequence[SimilarClass]) -> float:
    """Return the score of the likeliest class: the higher, the less likely the next one is."""
    most, next_most = (*(each.score for each in alike[:2]), 0.0)[:2]
    return LEAST + (MOST - LEAST) * min(1.0, most / next_most - 1 if next_most else 1.0)


def _alike(loud: Iterable[tuple[Line, str]], likeness: Likeness) -> list[SimilarClass]:
    """Return the classes that lines are like, the likest first; those that are most like what tells of no failure count for nothing."""
    total = Counter[str]()
    lines: dict[str, tuple[float, Line]] = {}
    for line, text in loud:
        scores = likeness.scores(text)
        if not scores or scores.most_common(1)[0][0] in TELLS_NOTHING:
            continue
        total.update(scores)
        for name, score in scores.items():
            if name not in lines or score > lines[name][0]:
                lines[name] = (score, line)
    unnamed = {*TELLS_NOTHING, USER_CODE}
    return [SimilarClass(name, score, lines[name][1]) for name, score in total.most_common() if name not in unnamed]


def _loud(log: Log, echoes: Collection[tuple[str, int]]) -> Iterator[tuple[Line, str]]:
    """Yield the exceptions and error lines that training did not survive, each once."""
    ended = read_log_context(log).ended
    exceptions = [*exceptions_of(log)]
    yield from _loud_exceptions(exceptions, echoes, ended)
    yield from _loud_lines(log, {*echoes, *(line.place for each in exceptions for line in each.error)}, ended)


def _loud_exceptions(
    exceptions: Iterable[Traceback], echoes: Collection[tuple[str, int]], ended: Line | None
) -> Iterator[tuple[Line, str]]:
    taken = set(echoes)
    for exception in exceptions:
        first = exception.error[0]
        if first.place not in taken and _counts(first, ended):
            yield first, joined_error(exception)
        taken |= {line.place for line in exception.error}


def _loud_lines(log: Log, taken: Collection[tuple[str, int]], ended: Line | None) -> Iterator[tuple[Line, str]]:
    """Yield the error lines that are part of no exception, each once but for its numbers."""
    shapes = set[str]()
    for line in chain((hit.line for hit in log.hits), log.head, log.tail):
        shape = re.sub(r"\d+", "#", line.text)
        if line.place not in taken and shape not in shapes and LOUD.search(line.text) and not QUIET.search(line.text):
            shapes.add(shape)
            if _counts(line, ended):
                yield line, line.text


def _counts(line: Line, ended: Line | None) -> bool:
    """True if a line speaks of more than that something else failed, and training did not go on to its end after it."""
    return not TEARDOWN.search(line.text) and not survived(line, ended)
