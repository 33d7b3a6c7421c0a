"""Runs of consecutive releases in which something stays as it is, and how they are written."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

ValueRun = tuple[int, int, Any]
"""The first and the last index, and the value from the one to the other."""


Spans = list[tuple[int, int]]
"""First and last indices, both included, in order."""


@dataclass(slots=True)
class Column:
    """The values of one thing over a package's releases; where there is none, it did not exist."""

    runs: list[ValueRun] = field(default_factory=list[ValueRun])

    def put(self, index: int, value: Any) -> None:
        """Set the value at one index that has none yet."""
        runs = self.runs
        place = next((at for at in range(len(runs), 0, -1) if runs[at - 1][0] < index), 0)
        runs.insert(place, (index, index, value))
        for at in (place, place - 1):  # join with the run after, then with the one before
            if 0 <= at < len(runs) - 1 and runs[at][1] + 1 == runs[at + 1][0] and runs[at][2] == runs[at + 1][2]:
                runs[at : at + 2] = [(runs[at][0], runs[at + 1][1], runs[at][2])]

    def at(self, index: int) -> Any:
        """Return the value at an index; None if there is none."""
        return next((value for first, last, value in self.runs if first <= index <= last), None)

    def within(self, spans: Spans) -> list[ValueRun]:
        """Return the runs inside some ranges."""
        return [
            (max(first, low), min(last, high), value)
            for low, high in spans
            for first, last, value in self.runs
            if max(first, low) <= min(last, high)
        ]

    def make_room(self, index: int) -> None:
        """Move everything from an index on by one; the index itself gets no value."""
        moved: list[ValueRun] = []
        for first, last, value in self.runs:
            if first < index <= last:
                moved += [(first, index - 1, value), (index + 1, last + 1, value)]
            else:
                by = 1 if first >= index else 0
                moved.append((first + by, last + by, value))
        self.runs = moved

    def spans(self) -> Spans:
        """Return where there is a value, whatever it is."""
        spans: Spans = []
        for first, last, _ in self.runs:
            if spans and spans[-1][1] + 1 == first:
                spans[-1] = (spans[-1][0], last)
            else:
                spans.append((first, last))
        return spans

    def changes(self) -> list[list[Any]]:
        """Return the indices at which the value changes, with the new value."""
        changes: list[list[Any]] = []
        for first, _, value in self.runs:
            if not changes or changes[-1][1] != value:
                changes.append([first, value])
        return changes


def write_ranges(spans: Iterable[tuple[int, int]], newest: int) -> str:
    """Return ranges as text.

    >>> write_ranges([(3, 7), (9, 9), (11, 12)], newest=12)
    '3-7,9,11-'
    """
    return ",".join(_range(first, last, newest) for first, last in spans)


def read_ranges(text: str, newest: int) -> Spans:
    """Return the ranges that a text tells of.

    >>> read_ranges("3-7,9,11-", newest=12)
    [(3, 7), (9, 9), (11, 12)]
    """
    spans = []
    for part in text.split(",") if text else ():
        first, dash, last = part.partition("-")
        spans.append((int(first), newest if dash and not last else int(last or first)))
    return spans


def read_changes(changes: Iterable[list[Any]], spans: Iterable[tuple[int, int]]) -> Iterator[ValueRun]:
    """Yield the runs of a list of changes, within the ranges where there is a value."""
    listed = list(changes)
    ends = [change[0] - 1 for change in listed[1:]] + [None]
    for first, last in spans:
        for (start, value), end in zip(listed, ends, strict=True):
            low, high = max(first, start), last if end is None else min(last, end)
            if low <= high:
                yield low, high, value


def _range(first: int, last: int, newest: int) -> str:
    if last == newest:
        return f"{first}-"
    return str(first) if first == last else f"{first}-{last}"
