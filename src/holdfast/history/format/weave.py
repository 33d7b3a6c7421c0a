"""Texts and orders of many releases, each piece written once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from holdfast.history.format.ranges import Column, Spans, read_ranges, write_ranges

Piece = list[str]
"""Ranges, and lines that stand in the text in these releases."""


@dataclass(slots=True)
class Weave:
    """A text through its releases: every line that it ever had, in an order that holds in each of them."""

    lines: list[tuple[Column, str]] = field(default_factory=list[tuple[Column, str]])

    def put(self, index: int, text: str) -> None:
        """Record the text for a release that has none yet."""
        new = text.split("\n")
        woven: list[tuple[Column, str]] = []
        matcher = SequenceMatcher(None, [line for _, line in self.lines], new, autojunk=False)
        for tag, low, high, start, end in matcher.get_opcodes():
            for column, line in self.lines[low:high]:
                woven.append((column, line))
                if tag == "equal":
                    column.put(index, value=True)
            if tag != "equal":
                woven += [(Column([(index, index, True)]), line) for line in new[start:end]]
        self.lines = woven

    def write(self, newest: int) -> Iterator[Piece]:
        """Yield its pieces: lines that follow each other and are there in the same releases."""
        ranges, lines = "", list[str]()
        for column, line in self.lines:
            there = write_ranges(column.spans(), newest)
            if there != ranges and lines:
                yield [ranges, "\n".join(lines)]
                lines = []
            ranges = there
            lines.append(line)
        if lines:
            yield [ranges, "\n".join(lines)]


def read_weave(pieces: Iterable[Piece], newest: int) -> Weave:
    """Return the text that pieces tell of."""
    return Weave(
        [
            (Column([(first, last, True) for first, last in read_ranges(ranges, newest)]), line)
            for ranges, lines in pieces
            for line in lines.split("\n")
        ]
    )


def common_order(orders: Iterable[list[str]]) -> list[str]:
    """Return all names in an order that agrees with as many of the orders as possible, the first ones above all.

    >>> common_order([["a", "c"], ["a", "b", "c"], ["c", "a", "d"]])
    ['a', 'b', 'c', 'd']
    """
    common: list[str] = []
    for order in orders:
        place = {name: at for at, name in enumerate(common)}
        known = [place[name] for name in order if name in place]
        follows = known == sorted(known)
        at = 0
        for name in order:
            if name in place:
                at = common.index(name) + 1 if follows else at
            else:
                common.insert(at if follows else len(common), name)
                at += 1
    return common


def indices(spans: Spans) -> Iterator[int]:
    """Yield every index in some ranges."""
    for first, last in spans:
        yield from range(first, last + 1)
