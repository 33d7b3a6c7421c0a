"""What is kept of a job's logs while they are read: lines that may decide, tracebacks, metrics, the beginning and the end.

Of what is said a million times, the first and the last are kept, so memory does not grow with the log.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Generic, Literal, TypeVar

from ahocorasick_rs import BytesAhoCorasick, Implementation

from holdfast.core.diagnose.log import Hit, Line, Log, Metrics, Traceback
from holdfast.engine.diagnose.metrics import NOT_FINITE, STEPS
from holdfast.engine.diagnose.restarts import RESTARTS
from holdfast.engine.diagnose.tracebacks import START, Chain

STRUCTURE: Final = (START, "Error: ", "Exception: ", "KeyboardInterrupt", *RESTARTS)
"""Words of every log, beside those of signatures."""
MOST_HITS: Final = 2000
"""Hits that are kept from the beginning of the logs, and as many from their end."""
MOST_TRACEBACKS: Final = 300
MOST_STEPS: Final = 300
MOST_ODD_STEPS: Final = 500
MOST_RESTARTS: Final = 40

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LogQuery:
    """What is looked for in a log.

    Attributes:
        words: Literals; a hit tells which of them a line has, by number.
        keeps: Tells whether a line with some of them, by number, is worth keeping: most are not what they look like.
    """

    words: Sequence[str] = ()
    keeps: Callable[[str, frozenset[int]], bool] = lambda _text, _words: True


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


class KeptLines:
    """What is kept of a job's logs while they are read, in however many files."""

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

    def words_in(self, text: str) -> set[int]:
        """Return the numbers of the words that a text has, those of logs as such among them."""
        return {word for word, _, _ in self.finder.find_matches_as_indexes(text.encode(), overlapping=True)}

    def signature_words(self, text: str) -> frozenset[int]:
        """Return the numbers of the signatures' words for which a text is worth keeping."""
        words = {word for word in self.words_in(text) if word < self.structure}
        return frozenset(word for word in words if self.sought.keeps(text, frozenset({word})))

    def kept_words(self, text: str, words: frozenset[int]) -> frozenset[int]:
        """Return the signatures' words of a line that is worth keeping for them; none of another line."""
        return words if words and self.sought.keeps(text, words) else frozenset()

    def add_hit(self, hit: Hit) -> None:
        """Keep a line that may decide; those without a signature's word are kept apart."""
        (self.hits if hit.words else self.errors).add(hit)

    def add_step(self, step: Metrics, *, is_odd: bool) -> None:
        """Keep a step; one with a value that is not finite is kept wherever it stands."""
        self.metrics.add(step)
        if is_odd and len(self.odd) < MOST_ODD_STEPS:
            self.odd.append(step)

    def add_chain(self, linked: Chain) -> None:
        """Keep tracebacks, or count them where others differ from them by numbers alone."""
        alike = tuple((_shape(part), part.frames[-1:]) for part in linked.parts)
        known = self.chains.get(alike)
        if known:
            self.chains[alike] = (known[0], known[1] + 1)
        elif len(self.chains) < MOST_TRACEBACKS:
            self.chains[alike] = (linked, 1)

    def done(self, paths: tuple[str, ...]) -> Log:
        """Return all that was kept as one log."""
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

    def expect_many(self) -> None:
        """Search faster from now on: it pays in a log of several windows."""
        self.finder = _finder(tuple(self.words), many=True)


def _shape(traceback: Traceback) -> str:
    """Return an exception without its numbers, which differ between ranks."""
    return re.sub(r"0x[0-9a-f]+|\d+", "#", traceback.error[0].text if traceback.error else "")
