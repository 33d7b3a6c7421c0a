"""Matches: lines that a pattern of a signature matches, in the context that the pattern asks for."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Final

from holdfast.core.diagnose.diagnosis import Pattern, Signature
from holdfast.core.diagnose.log import Hit, Line, Log, Traceback
from holdfast.core.diagnose.words import SHORTEST, words_of
from holdfast.engine.diagnose.alike import Likeness
from holdfast.engine.diagnose.cleaning import bare
from holdfast.engine.diagnose.kept_lines import LogQuery
from holdfast.engine.diagnose.phases import phase_of
from holdfast.engine.diagnose.reading import joined_error
from holdfast.engine.diagnose.tracebacks import FRAME, START
from holdfast.engine.diagnose.truncated_lines import LinePrefixes
from holdfast.engine.diagnose.values import holds
from holdfast.engine.diagnose.waits import waits_of

QUOTES = "'\"`"
SOURCE = re.compile(
    r"^(?:\s+|\s*-+>\s*\d+\s+|\s*\d+\s+)(?:raise \w|warnings\.warn|logger\.\w+\(|assert |(?:[rbu]?f|f[rb])[\"'])"
)
"""A line of source where no traceback around it was read: what a warning shows below itself, what was pasted without its frames."""
SHARED: Final = re.compile(r"Duplicate GPU detected : rank (\d+) and rank (\d+) both on CUDA device (\w+)")
STEPS: Final = (
    re.compile(r"\[ *(\d[\d,]*) ?/ ?(\d[\d,]*)\]"),
    re.compile(r"(?i)\b(?:batch|iter(?:ation)?|step|update)s?\W{0,3}(\d[\d,]*) ?(?:/|of) ?(\d[\d,]*)"),
    re.compile(r"\bepoch \d+: +(\d+) ?/ *(\d+)"),
    re.compile(r"(?i)\bloss\b.{0,60}?\b(\d+)(it) \[\d+:\d\d"),
)
"""How a step is written, and how many there are, if the line says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A line that matches a pattern.

    Attributes:
        signature: The class it speaks for.
        pattern: How.
        hit: The line, and where it stands.
        values: What the named groups matched, None of those that took no part; and `step` and `steps`, how far training got.
    """

    signature: Signature
    pattern: Pattern
    hit: Hit
    values: Mapping[str, str | None] = field(default_factory=dict[str, str | None])

    @property
    def line(self) -> Line:
        """The line itself, without its context."""
        return self.hit.line

    @property
    def is_source(self) -> bool:
        """Whether the line is source code, which has the words of a message and none of its values."""
        return is_source(self.hit)


class PatternIndex:
    """The patterns of many signatures, by the words of the lines that they match."""

    def __init__(self, signatures: Sequence[Signature]) -> None:
        self.signatures = tuple(signatures)
        self.beginnings = LinePrefixes(self.signatures)
        self.likeness = Likeness(self.signatures)
        self._patterns: dict[int, list[tuple[Signature, Pattern]]] = {}
        self._conditions: dict[int, list[str]] = {}
        self.sought = LogQuery(tuple(self._number_words()), self.keeps)

    def _number_words(self) -> dict[str, int]:
        """Fill the tables by word, and return the number of each word."""
        numbers: dict[str, int] = {}
        for signature in self.signatures:
            for pattern in signature.patterns:
                for number in _numbers(pattern.line, numbers):
                    self._patterns.setdefault(number, []).append((signature, pattern))
                for condition in filter(None, (pattern.log, pattern.not_log)):
                    for number in _numbers(condition, numbers):
                        self._conditions.setdefault(number, []).append(condition)
        return numbers

    def keeps(self, text: str, words: frozenset[int]) -> bool:
        """True if any pattern with one of these words matches a line."""
        return any(_search(pattern.line, text) for _, pattern in self._candidates(words)) or any(
            _search(expression, text) for expression in self._log_conditions(words)
        )

    def matches(self, log: Log) -> Iterator[Match]:
        """Yield every match in a log, in the order of its lines."""
        progress = dict(zip(("step", "steps"), map(str, log.progress or ()), strict=False))
        known = waits_of(log) | shared_devices(log) | progress
        met = self._conditions_met(log)
        for hit in log.hits:
            for signature, pattern in self._candidates(hit.words):
                if _fits(pattern, met) and (values := match(pattern, hit, known)) is not None:
                    yield Match(signature=signature, pattern=pattern, hit=hit, values=values)

    def _conditions_met(self, log: Log) -> frozenset[str]:
        """Return the conditions of patterns on the log as a whole that some line meets."""
        return frozenset(
            expression
            for hit in log.hits
            for expression in self._log_conditions(hit.words)
            if _search(expression, hit.line.text)
        )

    def _log_conditions(self, words: Iterable[int]) -> Iterator[str]:
        """Yield the conditions of patterns on the log as a whole, of expressions with one of these words."""
        for word in words:
            yield from self._conditions.get(word, ())

    def _candidates(self, words: Iterable[int]) -> Iterator[tuple[Signature, Pattern]]:
        """Yield each pattern whose line has one of these words, once."""
        seen: set[int] = set()
        for word in sorted(words):
            for signature, pattern in self._patterns.get(word, ()):
                if id(pattern) not in seen:
                    seen.add(id(pattern))
                    yield signature, pattern


def _fits(pattern: Pattern, met: Collection[str]) -> bool:
    """True if a log meets the condition that a pattern sets it, and not the one that excludes it."""
    return (not pattern.log or pattern.log in met) and pattern.not_log not in met


def _numbers(expression: str, numbers: dict[str, int]) -> list[int]:
    """Return the numbers of an expression's words. A new word gets the next one."""
    return [numbers.setdefault(_unquoted(word), len(numbers)) for word in words_of(expression)]


def match(
    pattern: Pattern, hit: Hit, known: Mapping[str, str | None] = MappingProxyType({})
) -> Mapping[str, str | None] | None:
    """Return the named groups that a pattern matches in a line, and around it; None if it does not match.

    Args:
        pattern: What is looked for.
        hit: A line with a word of it.
        known: Values of the log as a whole, which conditions may use too: `step` and `steps`, how far training got, and those of `waits_of` and
            `shared_devices`. A condition may use the `phase` of the job as well, which the line's traceback shows.
    """
    groups = _line_groups(pattern, hit)
    if groups is None or (beside := _groups_beside(pattern, hit)) is None or _is_refused(pattern, hit):
        return None
    values = {**known, **_condition_values(hit, pattern, known), **groups, **beside}
    return values if not pattern.when or holds(pattern.when, values) else None


def _line_groups(pattern: Pattern, hit: Hit) -> dict[str, str | None] | None:
    """Return the groups that a pattern matches in a line itself; None if it does not match. Source code gives no values."""
    found = _search(pattern.line, hit.line.text)
    if found is None or (pattern.last and not _is_exception(hit)):
        return None
    return dict.fromkeys(found.groupdict()) if is_source(hit) else found.groupdict()


def _groups_beside(pattern: Pattern, hit: Hit) -> dict[str, str | None] | None:
    """Return the groups of what a pattern requires around a line; None if something of it is not there."""
    frames = _frames(hit.traceback)
    required = ((pattern.near, _near(hit)), (pattern.frame, frames), (pattern.raised_in, frames[:1]))
    groups: dict[str, str | None] = {}
    for expression, texts in required:
        found = _first(expression, texts) if expression else None
        if expression and found is None:
            return None
        groups |= found.groupdict() if found else {}
    return groups


def _is_refused(pattern: Pattern, hit: Hit) -> bool:
    """True if something stands around a line that excludes a pattern."""
    if pattern.not_near and _first(pattern.not_near, _own(hit)):
        return True
    return bool(pattern.not_frame and _first(pattern.not_frame, _frames(hit.traceback, known=True)))


def _condition_values(hit: Hit, pattern: Pattern, known: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the values for a pattern's condition at the place of a line: the phase of the job, and the step."""
    facts: dict[str, str | None] = {}
    if "phase" in pattern.when:
        facts["phase"] = phase_of(hit)
    glued = (hit.traceback.start.bar, hit.traceback.start.text) if hit.traceback else ()
    if (
        "step" in pattern.when
        and (found := _furthest_step((*glued, *_near(hit))))
        and found[0] > int(known.get("step") or 0)
    ):
        facts |= {"step": str(found[0]), "steps": str(found[1]) if found[1] else None}
    return facts


def is_source(hit: Hit) -> bool:
    """True if a line is source code that a traceback, or a warning, shows.

    >>> is_source(Hit(line=Line(1, '    raise ValueError(f"Bad split: {split}")'))), is_source(Hit(line=Line(1, "ValueError: Bad split: x")))
    (True, False)
    """
    if hit.traceback is None or _is_exception(hit):
        return SOURCE.match(hit.line.text) is not None
    return FRAME.match(hit.line.text) is None and START not in hit.line.text


def _is_exception(hit: Hit) -> bool:
    """True if a line is the exception of a traceback, or of none that can be seen."""
    return hit.traceback is None or any(line.number == hit.line.number for line in hit.traceback.error)


def _near(hit: Hit) -> Iterator[str]:
    """Yield the texts around a line and its traceback, whoever wrote them."""
    yield from _own(hit)
    yield hit.line.bar
    yield from (line.text for line in hit.around)
    for part in _chain(hit.traceback):
        yield from (line.text for line in part.before)


def _own(hit: Hit) -> Iterator[str]:
    """Yield the lines that the same rank wrote around a line, the line, and its traceback with its causes.

    A line without a rank or source may speak for a class, but not against it: it may be another rank's.
    """
    yield from (line.text for line in hit.around if line.writer == hit.line.writer)
    yield hit.line.text
    for part in _chain(hit.traceback):
        yield from (line.text for line in part.error)
        yield from (frame.code for frame in part.frames)
        yield joined_error(part)
        yield from (line.text for line in part.before if line.writer == hit.line.writer)


def _chain(traceback: Traceback | None) -> tuple[Traceback, ...]:
    return (traceback, *(earlier for earlier, _ in traceback.earlier)) if traceback else ()


def _frames(traceback: Traceback | None, *, known: bool = False) -> list[str]:
    """Return the frames of a traceback, the one that raised first; with `known`, those alone whose file is known."""
    frames = reversed(traceback.frames) if traceback else ()
    return [str(frame) for frame in frames if frame.file or not known]


def _first(expression: str, texts: Iterable[str]) -> re.Match[str] | None:
    regex = _compiled(expression)
    return next((found for text in texts if (found := regex.search(text))), None)


def _unquoted(word: str) -> str:
    """Return a word without the quotes around it: a log that was pasted through a forum may have others."""
    plain = word.strip(QUOTES)
    return plain if len(plain) >= SHORTEST else word


def _search(expression: str, text: str) -> re.Match[str] | None:
    """Return where an expression matches a line; one for its beginning may match behind a logger's words too."""
    regex = _compiled(expression)
    found = regex.search(text)
    return found if found or "^" not in expression else regex.search(bare(text))


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


def shared_devices(log: Log) -> dict[str, str]:
    """Return the GPUs that ranks share; empty where NCCL does not report it.

    A rank takes the GPU of its own number, modulo how many there are: with too few GPUs, neighbours share one only if it is the only one.

    Args:
        log: What was read.

    Returns:
        As texts, which conditions compare as numbers: `shared_gpus`, how many GPUs are shared; `neighbours_share`, 1 where two ranks that follow
        one another share one.
    """
    found = [match for hit in log.hits if (match := SHARED.search(hit.line.text))]
    if not found:
        return {}
    neighbours = any(abs(int(match[1]) - int(match[2])) == 1 for match in found)
    return {"shared_gpus": str(len({match[3] for match in found})), "neighbours_share": str(int(neighbours))}


def _furthest_step(texts: Iterable[str]) -> tuple[int, int] | None:
    """Return the furthest step that some lines tell, and how many there are (0 if no line tells); None if they tell of no step.

    >>> _furthest_step(["Epoch: [0]  [1320/3696]  eta: 0:31:45", "Epoch: [0]  [1330/3696]  eta: 0:31:38"])
    (1330, 3696)
    >>> _furthest_step(["loss: 5.09 ||: : 8613it [27:42,  5.34it/s]"]), _furthest_step(["RuntimeError: CUDA out of memory"])
    ((8613, 0), None)
    """
    found = (match for text in texts for pattern in STEPS if (match := pattern.search(text)))
    return max(((_count(match[1]), _count(match[2])) for match in found), default=None)


def _count(digits: str) -> int:
    return int(digits.replace(",", "")) if digits[0].isdigit() else 0
